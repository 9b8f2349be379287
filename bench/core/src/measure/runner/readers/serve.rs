//! A process that reads.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_setfl};

use super::messages::{Answers, Message, OPENED, READY, SEEN};
use super::values::Seen;
use super::writes::{now_ns, random_keys};
use crate::engine::{Durability, Engine, Role, Session, Store};
use crate::fault::Fault;
use crate::measure::byte_sum::fold;
use crate::measure::loops::position;
use crate::measure::runner::slot::StoreSlot;
use crate::workload::definition::{Reading, Values};
use crate::workload::draw::Draws;
use crate::workload::key::KeyBuffer;
use crate::workload::model::{ABSENT, Model};
use crate::workload::plan::{Plan, Reader};
use crate::workload::pool::Pool;
use crate::workload::random::Random;

/// Number of reads between two looks at whether to end.
const STEP: u32 = 100;

/// A session that changes nothing.
const ROLE: Role = Role {
    changing: false,
    ..Role::single(Durability::Os)
};

fn fault(error: &io::Error) -> Fault {
    Fault::io("the pipe of the process that writes", error)
}

fn answer(byte: u8) -> Result<(), Fault> {
    let mut output = io::stdout().lock();
    let sent = output.write_all(&[byte]).and_then(|()| output.flush());
    sent.map_err(|error| fault(&error))
}

/// Waits for a message, if need be without giving up the processor. Returns `None` at the end.
fn message() -> Result<Option<Message>, Fault> {
    let mut bytes = [[0; 8]; 3];
    loop {
        match io::stdin().lock().read_exact(bytes.as_flattened_mut()) {
            Ok(()) => return Ok(Some(bytes.map(u64::from_le_bytes))),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            // A message is written and read as a whole.
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
            Err(error) => return Err(fault(&error)),
        }
    }
}

/// Lets reads of the pipe return at once: waking up would take longer than what is measured.
fn never_block() -> Result<(), Fault> {
    fcntl_setfl(io::stdin(), OFlags::NONBLOCK).map_err(|error| fault(&error.into()))
}

/// Returns whether the pipe has ended, which must not block.
fn has_ended() -> bool {
    let read = io::stdin().lock().read(&mut [0]);
    !matches!(read, Err(error) if error.kind() == ErrorKind::WouldBlock)
}

/// Receives the words of the model.
fn receive(pool: &Pool, plan: &Plan, reader: Reader) -> Result<Model, Fault> {
    let mut words = vec![0; reader.keys * size_of::<u32>()];
    let received = io::stdin().lock().read_exact(&mut words);
    received.map_err(|error| fault(&error))?;
    let mut model = Model::new(pool, position(plan.num));
    if model.restore(&words) {
        Ok(model)
    } else {
        Err(Fault::new("the model does not fit the plan"))
    }
}

/// Reads the store of the process that sends messages, until it sends no more.
pub(in super::super) fn serve<E: Engine>(
    engine: &E,
    plan: &Plan,
    reader: Reader,
) -> Result<(), Fault> {
    let pool = Pool::load(plan)?;
    let model = receive(&pool, plan, reader)?;
    let (draws, random) = random_keys(plan, plan.seed);
    let words = model.words(Values::Flag);
    let seen = Seen::new(&model, words, pool.set(Values::Flag).count());
    let mut slot = StoreSlot::new(engine, plan);
    answer(READY)?;
    message()?;
    let start = Instant::now();
    slot.open_reader()?;
    let mut reads = Reads {
        session: slot.shared()?.session(ROLE)?,
        key: pool.layout().buffer(),
        draws,
        random,
        seen,
        judged: reader.judged,
        answers: Answers::default(),
    };
    reads.next()?;
    let opened_ns = nanos(start.elapsed());
    answer(OPENED)?;
    let mut answers = reads.go_on(reader.reading)?;
    answers.opened_ns = opened_ns;
    slot.close()?;
    serde_json::to_writer(io::stdout(), &answers).map_err(|error| fault(&error.into()))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Reads and checks.
struct Reads<'r, S> {
    session: S,
    key: KeyBuffer,
    draws: Draws,
    random: Random,
    seen: Seen<'r>,
    judged: bool,
    answers: Answers,
}

impl<S: Session> Reads<'_, S> {
    /// Reads until the end. Returns what is to be reported.
    fn go_on(mut self, reading: Reading) -> Result<Answers, Fault> {
        (self.answers.reads, self.answers.found) = (0, 0);
        message()?;
        match reading {
            Reading::Idle => while message()?.is_some() {},
            Reading::Flat => {
                never_block()?;
                let start = Instant::now();
                while !has_ended() {
                    for _ in 0..STEP {
                        self.next()?;
                    }
                }
                self.answers.reading_ns = nanos(start.elapsed());
            }
            Reading::Following => {
                never_block()?;
                while let Some([index, generation, written_ns]) = message()? {
                    let generation = u32::try_from(generation).unwrap_or(u32::MAX);
                    self.see(index, generation, written_ns)?;
                    answer(SEEN)?;
                }
            }
        }
        Ok(self.answers)
    }

    /// Reads a key. Returns the fold of its value.
    #[inline]
    fn get(&mut self, index: u64) -> Result<u64, Fault> {
        let found = self.session.get(self.key.set(index), fold)?;
        self.answers.reads += 1;
        self.answers.found += u64::from(found.is_some());
        Ok(found.unwrap_or(ABSENT))
    }

    /// Reads a random key.
    #[inline]
    fn next(&mut self) -> Result<(), Fault> {
        let index = self.draws.next(&mut self.random);
        let answer = self.get(index)?;
        if self.judged && !self.seen.allows(index, answer) {
            self.wrong(index, answer);
        }
        Ok(())
    }

    /// Reads a key until it has the value of this generation.
    fn see(&mut self, index: u64, generation: u32, written_ns: u64) -> Result<(), Fault> {
        self.answers
            .message_ns
            .push(now_ns().saturating_sub(written_ns));
        let wanted = self.seen.expected(index, generation);
        loop {
            let answer = self.get(index)?;
            let now = now_ns();
            if answer == wanted {
                let took = now.saturating_sub(written_ns);
                self.answers.seen_ns.push(took);
                break;
            }
            if !self.seen.allows(index, answer) {
                self.wrong(index, answer);
                break;
            }
            self.answers.stale += 1;
        }
        self.seen.generations[position(index)] = generation;
        Ok(())
    }

    #[cold]
    fn wrong(&mut self, index: u64, answer: u64) {
        let seen = &self.seen;
        self.answers
            .wrong
            .add(|| format!("{} (in another process)", seen.describe(index, answer)));
    }
}
