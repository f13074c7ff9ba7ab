//! A disk in memory that forgets what was not synced, runs full, and fails when told to. For tests.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::sync::Arc;

use parking_lot::Mutex;
use rand::Rng;
use rand::rngs::SmallRng;

use super::{ALIGNMENT, Disk, File};

const SECTOR: usize = 512;

/// What survives a crash, and the way to one. Clones are the same machine.
#[derive(Clone, Default)]
pub struct Machine(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    life: u64,
    dead: bool,
    /// Calls that change something, until the machine dies.
    fuse: Option<u64>,
    names: BTreeMap<String, Arc<Mutex<Node>>>,
    durable_names: BTreeMap<String, Arc<Mutex<Node>>>,
    /// Changes of names since they were synced.
    pending: Vec<NameChange>,
    faults: Faults,
    segment_syncs: u64,
}

/// What goes wrong.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// How many bytes all files together may hold or reserve.
    pub capacity: Option<u64>,
    /// Syncs of segments answer success and do nothing.
    pub lying_syncs: bool,
    /// How many of the next syncs of segments fail.
    pub failing_syncs: u32,
    /// What writes fail with, and how many of those to segments, or all of all files.
    pub failing_writes: Option<(io::ErrorKind, u32)>,
    /// What reads fail with.
    pub failing_reads: Option<io::ErrorKind>,
}

enum NameChange {
    Set(String, Arc<Mutex<Node>>),
    Remove(String),
}

#[derive(Default)]
struct Node {
    bytes: Vec<u8>,
    durable: Vec<u8>,
    /// Writes since the last sync.
    unsynced: Vec<(u64, Vec<u8>)>,
    /// Writes before a failed sync: no later sync makes them durable.
    limbo: Vec<(u64, Vec<u8>)>,
    reserved: u64,
}

impl Machine {
    /// The disk for this life of the machine.
    pub fn disk(&self) -> Arc<dyn Disk> {
        Arc::new(SimDisk { machine: self.clone(), life: self.0.lock().life })
    }

    /// Dies now: every call on a disk of this life fails from here on.
    pub fn die(&self) {
        self.0.lock().dead = true;
    }

    /// Dies after `calls` more calls that change something.
    pub fn die_after(&self, calls: u64) {
        self.0.lock().fuse = Some(calls);
    }

    /// Counts as a call that changes something, for what shares the machine's fate. Whether the machine survives it.
    pub fn change(&self) -> bool {
        let life = self.0.lock().life;
        self.call(life, true).is_ok()
    }

    /// Whether it has died since it was last started.
    pub fn is_dead(&self) -> bool {
        self.0.lock().dead
    }

    /// Sets what goes wrong from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.0.lock().faults = faults;
    }

    /// Starts the machine again: of what was not synced, some is there and some is not.
    pub fn reboot(&self, rng: &mut SmallRng) {
        let mut state = self.0.lock();
        state.life += 1;
        (state.dead, state.fuse) = (false, None);
        let pending = std::mem::take(&mut state.pending);
        let kept = rng.random_range(0..=pending.len());
        for change in pending.into_iter().take(kept) {
            match change {
                NameChange::Set(name, node) => drop(state.durable_names.insert(name, node)),
                NameChange::Remove(name) => drop(state.durable_names.remove(&name)),
            }
        }
        state.names = state.durable_names.clone();
        for node in state.names.values() {
            node.lock().tear(rng);
        }
    }

    /// Changes the durable bytes of a file.
    ///
    /// # Panics
    /// When there is no file of that name.
    pub fn tamper(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let state = self.0.lock();
        let mut node = state.names[name].lock();
        change(&mut node.durable);
        node.bytes = node.durable.clone();
    }

    /// A machine with the same files.
    pub fn copy(&self) -> Self {
        let copy = Self::default();
        {
            let (state, mut to) = (self.0.lock(), copy.0.lock());
            for (name, node) in &state.names {
                let bytes = node.lock().bytes.clone();
                let node = Node { durable: bytes.clone(), bytes, ..Node::default() };
                to.names.insert(name.clone(), Arc::new(Mutex::new(node)));
            }
            to.durable_names = to.names.clone();
        }
        copy
    }

    /// The names of the files.
    pub fn names(&self) -> Vec<String> {
        self.0.lock().names.keys().cloned().collect()
    }

    /// What a read of the whole file gets.
    ///
    /// # Panics
    /// When there is no file of that name.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        self.0.lock().names[name].lock().bytes.clone()
    }

    /// How often a segment was synced, over all lives, whether that worked or not.
    pub fn segment_syncs(&self) -> u64 {
        self.0.lock().segment_syncs
    }

    /// How much space is in use, in bytes.
    pub fn used(&self) -> u64 {
        self.0.lock().names.values().map(|node| node.lock().used()).sum()
    }

    /// Lets a call through if the machine lives.
    fn call(&self, life: u64, changes: bool) -> io::Result<()> {
        let mut state = self.0.lock();
        if changes && let Some(fuse) = &mut state.fuse {
            if *fuse == 0 {
                state.dead = true;
            } else {
                *fuse -= 1;
            }
        }
        if state.dead || state.life != life { Err(io::Error::other("the machine is dead")) } else { Ok(()) }
    }

    fn has_room(&self, more: u64) -> io::Result<()> {
        let capacity = self.0.lock().faults.capacity;
        match capacity {
            Some(capacity) if self.used() + more > capacity => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }
}

impl Node {
    fn used(&self) -> u64 {
        self.reserved.max(self.bytes.len() as u64)
    }

    fn tear(&mut self, rng: &mut SmallRng) {
        let writes: Vec<_> = self.limbo.drain(..).chain(self.unsynced.drain(..)).collect();
        for (offset, bytes) in writes {
            match rng.random_range(0..4) {
                0 => {}
                1 => put(&mut self.durable, offset, &bytes),
                2 => put(&mut self.durable, offset, &bytes[..rng.random_range(0..=bytes.len())]),
                _ => {
                    let mut at = 0;
                    while at < bytes.len() {
                        let sector = SECTOR - (offset as usize + at) % SECTOR;
                        let end = (at + sector).min(bytes.len());
                        if rng.random() {
                            put(&mut self.durable, offset + at as u64, &bytes[at..end]);
                        }
                        at = end;
                    }
                }
            }
        }
        self.bytes = self.durable.clone();
        self.reserved = 0;
    }
}

fn put(bytes: &mut Vec<u8>, offset: u64, part: &[u8]) {
    let offset = offset as usize;
    if bytes.len() < offset + part.len() {
        bytes.resize(offset + part.len(), 0);
    }
    bytes[offset..offset + part.len()].copy_from_slice(part);
}

struct SimDisk {
    machine: Machine,
    life: u64,
}

struct SimFile {
    machine: Machine,
    life: u64,
    is_segment: bool,
    node: Arc<Mutex<Node>>,
}

impl SimDisk {
    fn file(&self, name: &str, node: &Arc<Mutex<Node>>) -> Arc<dyn File> {
        let is_segment = name.ends_with(".segment");
        Arc::new(SimFile { machine: self.machine.clone(), life: self.life, is_segment, node: Arc::clone(node) })
    }
}

impl Disk for SimDisk {
    fn lock(&self) -> io::Result<Box<dyn Send + Sync>> {
        Ok(Box::new(()))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.machine.call(self.life, false)?;
        let state = self.machine.0.lock();
        let node = state.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(self.file(name, node))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.machine.call(self.life, true)?;
        let mut state = self.machine.0.lock();
        let node = Arc::default();
        state.names.insert(name.into(), Arc::clone(&node));
        state.pending.push(NameChange::Set(name.into(), Arc::clone(&node)));
        Ok(self.file(name, &node))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.machine.call(self.life, true)?;
        let mut state = self.machine.0.lock();
        let node = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.into(), Arc::clone(&node));
        state.pending.push(NameChange::Set(to.into(), node));
        state.pending.push(NameChange::Remove(from.into()));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.machine.call(self.life, true)?;
        let mut state = self.machine.0.lock();
        state.names.remove(name).ok_or(io::ErrorKind::NotFound)?;
        state.pending.push(NameChange::Remove(name.into()));
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.machine.call(self.life, false)?;
        Ok(self.machine.names())
    }

    fn sync_names(&self) -> io::Result<()> {
        self.machine.call(self.life, true)?;
        let mut state = self.machine.0.lock();
        state.durable_names = state.names.clone();
        state.pending.clear();
        Ok(())
    }
}

impl File for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.machine.call(self.life, false)?;
        if let Some(kind) = self.machine.0.lock().faults.failing_reads {
            return Err(kind.into());
        }
        let node = self.node.lock();
        let rest = node.bytes.get(offset as usize..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn write_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<()> {
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        if let Some((kind, left)) = &mut self.machine.0.lock().faults.failing_writes
            && (self.is_segment && *left > 0 || *left == u32::MAX)
        {
            *left -= u32::from(*left < u32::MAX);
            return Err((*kind).into());
        }
        let more = (offset + bytes.len() as u64).saturating_sub(self.node.lock().used());
        self.machine.has_room(more)?;
        let dead_before = self.machine.is_dead();
        let alive = self.machine.call(self.life, true);
        if alive.is_err() && (dead_before || self.machine.0.lock().life != self.life) {
            return alive;
        }
        // The write under way when the machine dies may be found on the disk.
        let mut node = self.node.lock();
        put(&mut node.bytes, offset, &bytes);
        node.unsynced.push((offset, bytes));
        alive
    }

    fn write_direct(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<()> {
        let is_aligned =
            |part: &IoSlice<'_>| part.as_ptr().align_offset(ALIGNMENT) == 0 && part.len().is_multiple_of(ALIGNMENT);
        assert!(offset.is_multiple_of(ALIGNMENT as u64) && parts.iter().all(is_aligned), "not aligned");
        self.write_at(parts, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.machine.call(self.life, true)?;
        let mut state = self.machine.0.lock();
        state.segment_syncs += u64::from(self.is_segment);
        if self.is_segment && state.faults.lying_syncs {
            return Ok(());
        }
        let mut node = self.node.lock();
        let node = &mut *node;
        if self.is_segment && state.faults.failing_syncs > 0 {
            state.faults.failing_syncs -= 1;
            node.limbo.append(&mut node.unsynced);
            return Err(io::Error::other("the disk failed"));
        }
        for (offset, bytes) in node.unsynced.drain(..) {
            put(&mut node.durable, offset, &bytes);
        }
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        self.machine.call(self.life, false)?;
        Ok(self.node.lock().bytes.len() as u64)
    }

    fn reserve(&self, length: u64) -> io::Result<()> {
        let more = length.saturating_sub(self.node.lock().used());
        self.machine.has_room(more)?;
        let mut node = self.node.lock();
        node.reserved = node.reserved.max(length);
        let length = node.bytes.len().max(length as usize);
        node.bytes.resize(length, 0);
        Ok(())
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.machine.call(self.life, true)?;
        let mut node = self.node.lock();
        node.reserved = 0;
        node.bytes.truncate(length as usize);
        node.durable.truncate(length as usize);
        Ok(())
    }

    fn will_read(&self, _: u64, _: u64) {}

    fn will_not_read(&self, _: u64, _: u64) {}
}
