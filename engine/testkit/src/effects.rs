//! The failure modes of operations.

use cairndb_sim::{Cause, Effect, OpKind, Short};

/// Returns all effects that are tried on operations of this kind.
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
