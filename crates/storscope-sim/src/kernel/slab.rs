//! Places for jobs, reused as soon as they are free: memory grows with what is in flight, not with what was.

/// No place.
pub const NONE: u32 = u32::MAX;

/// A vector with a list of free places.
#[derive(Debug, Clone)]
pub struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slab<T> {
    /// Without items, but with memory for `room`.
    #[must_use]
    pub fn new(room: usize) -> Self {
        Self { items: Vec::with_capacity(room), free: Vec::with_capacity(room) }
    }

    /// Takes the place freed last, or a new one, for what `make` makes there.
    ///
    /// The item is made in its place: one that is copied from elsewhere right after it was written stalls the processor.
    #[inline]
    pub fn insert_with(&mut self, make: impl FnOnce() -> T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.items[place as usize] = make();
            return place;
        }
        self.items.push(make());
        (self.items.len() - 1) as u32
    }

    /// Takes the place freed last, or a new one.
    #[inline]
    pub fn insert(&mut self, item: T) -> u32 {
        self.insert_with(|| item)
    }

    /// Frees a place.
    #[inline]
    pub fn remove(&mut self, place: u32) {
        self.free.push(place);
    }

    /// Places in use.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.items.len() - self.free.len()
    }

    /// Every place ever used, free ones included.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, place: u32) -> &T {
        &self.items[place as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, place: u32) -> &mut T {
        &mut self.items[place as usize]
    }
}
