//! Relations that hold whatever the right answers are: they need no model.
