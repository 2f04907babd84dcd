//! Operations written as plain async functions: parameters from a struct, result from anything that serializes.

use std::{future::Future, sync::Arc};

use aql::{define, error::Error, execution::Lifecycle, response::Data, schema};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    Operations,
    executions::{answer_started, time_to_wait, wait_seconds},
};
use crate::{
    dispatch::{Context, Outcome, Work},
    executions::{Executions, Job, Running},
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
        self.describe::<P>(&mut operation)?;
        let work = Arc::new(work);
        self.add(operation, move |permitted: Permitted, context: Context| -> Work {
            let work = Arc::clone(&work);
            Box::pin(async move { run(permitted, context, work.as_ref()).await })
        });
        Ok(self)
    }

    /// Puts the parameters that a struct describes before those of the definition.
    fn describe<P: JsonSchema>(&mut self, operation: &mut define::Operation) -> Result<(), super::Error> {
        let described = schema::describe(schemars::schema_for!(P).as_value())
            .map_err(|source| super::Error::Schema { operation: operation.name.clone(), source })?;
        operation.params.splice(0..0, described.params);
        self.add_types(described.types);
        Ok(())
    }

    /// Adds an operation whose calls start executions: the work goes on after the call, and can be looked at, waited
    /// for, cancelled and, where the lifecycle says so, retried.
    ///
    /// The definition's lifecycle is taken as it is; without one, executions can be cancelled and report progress.
    pub fn executed<P, R, F, W>(
        mut self,
        mut operation: define::Operation,
        executions: &Executions,
        work: F,
    ) -> Result<Self, super::Error>
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + Send + 'static,
        F: Fn(P, Job) -> W + Send + Sync + 'static,
        W: Future<Output = Result<R, Error>> + Send + 'static,
    {
        self.describe::<P>(&mut operation)?;
        operation.params.push(wait_seconds(0));
        operation.lifecycle.get_or_insert_with(|| Lifecycle::new().with_cancel().with_progress());
        let (name, work) = (operation.name.clone(), Arc::new(work));
        executions.add_runner(&name.clone(), move |job: Job| -> Running {
            let (work, name) = (Arc::clone(&work), name.clone());
            Box::pin(async move {
                let params = read(job.params.clone(), &name)?;
                written(work(params, job).await?, &name)
            })
        });
        let executions = executions.clone();
        self.add(operation, move |mut permitted: Permitted, context: Context| -> Work {
            let executions = executions.clone();
            Box::pin(async move {
                let mut params = permitted.take_params();
                let time = time_to_wait(&params, &context);
                params.remove("wait_seconds");
                let execution =
                    executions.start(permitted.operation(), Value::Object(params), &context).await?;
                let answer = answer_started(&executions, execution, time, &context).await?;
                Ok(Outcome::from(Data::Value(answer)))
            })
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
    let params = read(Value::Object(permitted.take_params()), operation.as_str())?;
    let result = work(params, context).await?;
    Ok(Outcome::from(Data::Value(written(result, operation.as_str())?)))
}

fn read<P: DeserializeOwned>(params: Value, operation: &str) -> Result<P, Error> {
    serde_json::from_value(params).map_err(|error| {
        // Validation passed, so the struct asks for more than its schema says.
        tracing::error!(operation, %error, "parameters do not fit the handler's struct");
        Error::internal("the operation cannot read these parameters").with_operation(operation)
    })
}

fn written<R: Serialize>(result: R, operation: &str) -> Result<Value, Error> {
    serde_json::to_value(result).map_err(|error| {
        tracing::error!(operation, %error, "the handler's result is no JSON");
        Error::internal("the operation's result could not be written").with_operation(operation)
    })
}
