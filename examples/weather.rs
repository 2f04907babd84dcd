//! An MCP-AQL server of one's own: a struct of parameters, an async function, and a transport.
//!
//! `cargo run -p gateway --example weather` speaks MCP on standard input and output.

use gateway::{
    adapters::Operations,
    aql::{category::Category::Read, define::Operation, error::Error},
    dispatch::Context,
    library::Server,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Forecast {
    /// The city to look up
    city: String,
    /// How many days ahead
    #[schemars(range(min = 1, max = 14))]
    days: Option<u8>,
}

#[derive(Serialize)]
struct Weather {
    city: String,
    days: Vec<&'static str>,
}

async fn get_forecast(asked: Forecast, _context: Context) -> Result<Weather, Error> {
    if asked.city == "Atlantis" {
        return Err(Error::not_found_resource("city", &asked.city));
    }
    Ok(Weather { city: asked.city, days: vec!["sunny"; asked.days.unwrap_or(1).into()] })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let forecast = Operation::new(Read, "get_forecast", "Get the weather forecast for a city");
    let operations = Operations::new().typed(forecast, get_forecast)?;
    Ok(Server::new("weather", operations)?.stdio().await?)
}
