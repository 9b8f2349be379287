//! The ways in which an operation may fail.

use cairndb_sim::{Cause, Effect, OpKind, Short};

/// Every effect that is tried on operations of this kind.
pub fn effects(kind: OpKind) -> Vec<Effect> {
    let mut effects: Vec<Effect> = Cause::ALL.map(Effect::Fails).to_vec();
    for short in [Short::OneByte, Short::Half, Short::AllButOne] {
        effects.push(Effect::WritesPart(short, Cause::Full));
        effects.push(Effect::WritesPart(short, Cause::Io));
    }
    effects.extend([
        Effect::DoneButFails(Cause::Io),
        Effect::ReadsShort,
        Effect::SyncKeepsCache,
        Effect::SyncDropsCache,
        Effect::SyncReportsLate,
    ]);
    effects.retain(|effect| effect.applies_to(kind));
    effects
}
