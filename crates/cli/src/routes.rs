//! `kiloworld routes`.

use crate::args::Routes;
use crate::common::{Outcome, builder, load};
use anyhow::Result;
use serde_json::json;

pub(crate) fn run(args: &Routes, json: bool) -> Result<Outcome> {
    let model = load(&args.model)?;
    let routes = builder(&model, args.worlds, &args.place).routes()?;
    if json {
        println!("{}", json!({ "model": args.model, "routes": routes }));
    } else {
        println!("{}\n{routes}", args.model.display());
    }
    Ok(Outcome::Ok)
}
