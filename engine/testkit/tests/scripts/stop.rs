//! Crashes: the point at which the machine stops, and the data that is kept.

use std::sync::{Arc, Mutex};

use cairndb_scripts::Command;
use cairndb_sim::{
    Cause, CrashChoice, CrashPoint, Effect, Fault, Fill, Keep, OpKind, Profile, SimEnv,
};

/// Parses an operation kind such as `sync-dir` or `create-log`.
fn kind_of(text: &str) -> Result<OpKind, String> {
    let plain = text.replace('-', "");
    let mut kinds = OpKind::ALL.into_iter();
    let kind = kinds.find(|kind| format!("{kind:?}").eq_ignore_ascii_case(&plain));
    kind.ok_or_else(|| format!("unknown operation kind: {text}"))
}

/// An operation given as `KIND:NAME#N`.
struct Target {
    kind: OpKind,
    name: String,
    count: u64,
}

impl Target {
    fn parse(text: &str) -> Result<Target, String> {
        let (what, count) = text.split_once('#').unwrap_or((text, "1"));
        let (kind, name) = what.split_once(':').unwrap_or((what, ""));
        Ok(Target {
            kind: kind_of(kind)?,
            name: name.to_owned(),
            count: count
                .parse()
                .map_err(|_| format!("not a number: {count}"))?,
        })
    }

    /// Returns whether this is the operation; counts operations that match the target.
    fn is_reached(&mut self, point: &CrashPoint) -> bool {
        let op = point.op();
        if op.kind == self.kind && (op.name.contains(&self.name) || op.to.contains(&self.name)) {
            self.count = self.count.saturating_sub(1);
            return self.count == 0;
        }
        false
    }
}

/// The point at which a command should stop.
pub(crate) struct Stop {
    target: String,
    point: Arc<Mutex<Option<CrashPoint>>>,
}

impl Stop {
    /// Watches for the operation that `command` names, if any.
    pub(crate) fn watch(env: &SimEnv, command: &mut Command) -> Result<Option<Stop>, String> {
        let Some(target) = command.value::<String>("stop")? else {
            return Ok(None);
        };
        let point = Arc::new(Mutex::new(None));
        let (found, mut wanted) = (Arc::clone(&point), Target::parse(&target)?);
        env.watch(move |point| {
            let mut found = found.lock().unwrap();
            if found.is_none() && wanted.is_reached(&point) {
                *found = Some(point);
            }
        });
        Ok(Some(Stop { target, point }))
    }

    /// Returns the point that was reached, and a description of the operation.
    pub(crate) fn reached(self, env: &SimEnv) -> Result<(CrashPoint, String), String> {
        env.unwatch();
        let point = self.point.lock().unwrap().take();
        let point = point.ok_or_else(|| format!("never reached: {}", self.target))?;
        let op = point.op();
        let named = [&*op.name, &*op.to].join(" ");
        let text = format!("stopped before {:?} {}", op.kind, named.trim());
        Ok((point, text.trim_end().to_owned()))
    }
}

/// Splits `name` or `name:number`.
fn numbered(text: &str) -> (&str, usize) {
    let (name, number) = text.split_once(':').unwrap_or((text, "0"));
    (name, number.parse().unwrap_or(0))
}

fn keep_of(text: &str) -> Result<Keep, String> {
    Ok(match numbered(text) {
        ("none", _) => Keep::None,
        ("all", _) => Keep::All,
        ("prefix", count) => Keep::Prefix(count),
        ("only", one) => Keep::Only(one),
        ("named", one) => Keep::Named(one),
        ("missing", one) => Keep::Missing(one),
        ("seed", seed) => Keep::Random(seed as u64),
        _ => return Err(format!("unknown `keep`: {text}")),
    })
}

fn fill_of(text: &str) -> Result<Fill, String> {
    Ok(match numbered(text) {
        ("zeros", _) => Fill::Zeros,
        ("noise", seed) => Fill::Noise(seed as u64),
        ("old", seed) => Fill::Old(seed as u64),
        _ => return Err(format!("unknown `fill`: {text}")),
    })
}

/// Returns the machine after the crash that `command` describes.
pub(crate) fn crashed(point: &CrashPoint, command: &mut Command) -> Result<Arc<SimEnv>, String> {
    let ordered = command.flag("ordered");
    let kind = command.word()?;
    let keep = command.value::<String>("keep")?;
    let fill = command.value::<String>("fill")?;
    let profile = match &*kind {
        "kill" => Profile::Kill,
        "power" if ordered => Profile::Ordered,
        "power" if keep.is_some() => Profile::Weak,
        "power" => Profile::Strict,
        other => return Err(format!("unknown crash: {other}")),
    };
    let by_default = if profile == Profile::Kill {
        "all"
    } else {
        "none"
    };
    let choice = CrashChoice {
        keep: keep_of(keep.as_deref().unwrap_or(by_default))?,
        fill: fill_of(fill.as_deref().unwrap_or("zeros"))?,
    };
    Ok(point.image(profile, &choice))
}

/// Makes operations fail as `command` specifies.
pub(crate) fn inject(env: &SimEnv, command: &mut Command) -> Result<(), String> {
    let sticky = command.flag("sticky");
    let target = Target::parse(&command.word()?)?;
    let name = command.word()?;
    let mut causes = Cause::ALL.into_iter();
    let cause = causes.find(|cause| format!("{cause:?}").eq_ignore_ascii_case(&name));
    let cause = cause.ok_or_else(|| format!("unknown failure: {name}"))?;
    let fault = Fault::on(target.kind, &target.name, Effect::Fails(cause));
    let fault = fault.after(command.value("after")?.unwrap_or(0));
    env.inject(if sticky { fault.sticky() } else { fault });
    Ok(())
}
