//! Reading the rows of a query: it is split into sources, which one reader reads page by page.

mod fetch;
mod input;
mod limits;
mod merge;
mod page;
mod pages;
mod part;
mod position;
mod ranges;
mod reader;
mod results;
mod source;
mod split;
mod stream;

pub(crate) use fetch::{CheckedQuery, PageFetcher};
pub(crate) use limits::{CONCURRENCY, ReadMode, TotalDeadline};
pub(crate) use page::counted;
pub use page::{Page, QueryCost};
pub use pages::Pages;
pub(crate) use pages::{QueryRun, select_keys};
pub use position::Continuation;
pub(crate) use ranges::filters as range_filters;
pub use results::Results;
pub(crate) use source::Source;
pub(crate) use split::{ListedKeys, QueriedKeys, Sources};
pub use stream::EntityStream;
