//! What a storage design is made of.

mod array;
mod background;
mod cache;
mod check;
pub mod drive;
mod group;
mod host;
mod link;
mod rate_limit;
mod shape;

pub use array::{ArrayDesign, ControllerDesign, TransitionDesign};
pub use background::{
    BackgroundDesign, BackgroundKind, ChangeDesign, ControllerFailure, DriveOfGroup, LimitsChange, VolumeMove,
};
pub use cache::{CacheDesign, DestageOrder, Placement, PrefetchDesign, ReadCacheDesign, WriteBackDesign};
pub use check::DesignFault;
pub use group::{GroupDesign, JournalDesign, Layout, ParityUpdate, ReadChoice, Redundancy, VolumeDesign};
pub use host::{AttachmentDesign, FlashCacheDesign, HostDesign};
pub use link::{LinkDesign, LinkPreset, LinksDesign};
pub use rate_limit::{RateLimitDesign, RateLimitPreset, RateLimits};
pub use shape::{POOL_ROUNDS, Shape};
