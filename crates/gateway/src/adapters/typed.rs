//! Operations written as plain async functions: parameters from a struct, result from anything that serializes.

use std::{future::Future, sync::Arc};

use aql::{define, error::Error, response::Data, schema};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::Operations;
use crate::{
    dispatch::{Context, Outcome, Work},
    gate::Permitted,
};

impl Operations {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an operation whose parameters come from `P`; the definition adds what a struct cannot say.
    ///
    /// ```
    /// use gateway::{
    ///     adapters::Operations,
    ///     aql::{category::Category, define::Operation, error::Error},
    ///     dispatch::Context,
    ///     library::Server,
    /// };
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Greet {
    ///     /// Whom to greet
    ///     name: String,
    /// }
    ///
    /// async fn greet(asked: Greet, _: Context) -> Result<String, Error> {
    ///     Ok(format!("Hello, {}!", asked.name))
    /// }
    ///
    /// let definition = Operation::new(Category::Read, "get_greeting", "Greet somebody");
    /// let server = Server::new("greeter", Operations::new().typed(definition, greet)?)?;
    /// # let _ = server.gateway();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn typed<P, R, F, W>(
        mut self,
        mut operation: define::Operation,
        work: F,
    ) -> Result<Self, super::Error>
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + Send + 'static,
        F: Fn(P, Context) -> W + Send + Sync + 'static,
        W: Future<Output = Result<R, Error>> + Send + 'static,
    {
        let described = schema::describe(schemars::schema_for!(P).as_value())
            .map_err(|source| super::Error::Schema { operation: operation.name.clone(), source })?;
        let mut params = described.params;
        params.append(&mut operation.params);
        operation.params = params;
        self.add_types(described.types);
        let work = Arc::new(work);
        self.add(operation, move |permitted: Permitted, context: Context| -> Work {
            let work = Arc::clone(&work);
            Box::pin(async move { run(permitted, context, work.as_ref()).await })
        });
        Ok(self)
    }
}

async fn run<P, R, F, W>(mut permitted: Permitted, context: Context, work: &F) -> Result<Outcome, Error>
where
    P: DeserializeOwned,
    R: Serialize,
    F: Fn(P, Context) -> W,
    W: Future<Output = Result<R, Error>>,
{
    let operation = permitted.operation().name().clone();
    let params = Value::Object(permitted.take_params());
    let params = serde_json::from_value(params).map_err(|error| {
        // Validation passed, so the struct asks for more than its schema says.
        tracing::error!(operation = operation.as_str(), %error, "parameters do not fit the handler's struct");
        Error::internal("the operation cannot read these parameters").with_operation(operation.as_str())
    })?;
    let result = work(params, context).await?;
    let data = serde_json::to_value(result).map_err(|error| {
        tracing::error!(operation = operation.as_str(), %error, "the handler's result is no JSON");
        Error::internal("the operation's result could not be written").with_operation(operation.as_str())
    })?;
    Ok(Outcome::from(Data::Value(data)))
}
