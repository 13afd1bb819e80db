//! The explorer's scenarios: the library on a machine with store buffers. Each test is one search, on each
//! machine that `QUIESCENT_EXPLORE` names.

use quiescent_models::explorer as model;
use quiescent_on_explorer as rcu;

mod common;
#[path = "../in_order.rs"]
mod in_order;
#[path = "../side.rs"]
mod side;
mod slot_book;
#[path = "../words.rs"]
mod words;

mod asking;
mod barrier_futures;
mod barriers;
mod callbacks;
mod counts;
mod crossing;
mod deadlines;
mod domains;
mod draining;
mod driver_takeover;
mod fences;
mod list;
mod locks;
mod long;
mod map;
mod readers;
mod slots;
mod special;
mod srcu;
mod takeover;
mod turns;
mod updaters;
