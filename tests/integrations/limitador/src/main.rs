//! `beside-limitador PORT LIMITS_FILE`: limitador in memory, behind the paths of its HTTP API.
//!
//! All that judges and counts is limitador's own library, and what reads calls is the framework of
//! its server; only the glue between the two is written here. `/descriptors` is of this program: a
//! call with several descriptors, which its server takes over gRPC alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use actix_web::{web, App, HttpResponse, HttpServer};
use limitador::limit::{Context, Limit, Namespace};
use limitador::{counter::Counter, RateLimiter};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Call {
    namespace: String,
    values: HashMap<String, String>,
    delta: u64,
    response_headers: Option<String>,
}

/// Of `/descriptors`.
#[derive(Deserialize)]
struct CallOfSeveral {
    namespace: String,
    descriptors: Vec<HashMap<String, String>>,
    delta: u64,
}

impl Call {
    fn split(self) -> (Namespace, Context<'static>, u64) {
        let mut context = Context::default();
        context.list_binding("descriptors".to_string(), vec![self.values]);
        (self.namespace.into(), context, self.delta)
    }
}

#[derive(Serialize)]
struct SeenLimit {
    id: Option<String>,
    namespace: String,
    max_value: u64,
    seconds: u64,
    name: Option<String>,
    conditions: BTreeSet<String>,
    variables: BTreeSet<String>,
}

#[derive(Serialize)]
struct SeenCounter {
    limit: SeenLimit,
    set_variables: BTreeMap<String, String>,
    remaining: Option<u64>,
    expires_in_seconds: Option<u64>,
}

fn seen_limit(limit: &Limit) -> SeenLimit {
    SeenLimit {
        id: limit.id().map(str::to_string),
        namespace: limit.namespace().as_ref().to_string(),
        max_value: limit.max_value(),
        seconds: limit.seconds(),
        name: limit.name().map(str::to_string),
        conditions: limit.conditions().into_iter().collect(),
        variables: limit.variables().into_iter().collect(),
    }
}

fn seen_counter(counter: &Counter) -> SeenCounter {
    SeenCounter {
        limit: seen_limit(counter.limit()),
        set_variables: counter.set_variables().clone(),
        remaining: counter.remaining(),
        expires_in_seconds: counter.expires_in().map(|left| left.as_secs()),
    }
}

type Limiter = web::Data<RateLimiter>;

async fn limits(limiter: Limiter, space: web::Path<String>) -> HttpResponse {
    let found = limiter.get_limits(&space.into_inner().into());
    HttpResponse::Ok().json(found.iter().map(seen_limit).collect::<Vec<_>>())
}

async fn counters(limiter: Limiter, space: web::Path<String>) -> HttpResponse {
    match limiter.get_counters(&space.into_inner().into()) {
        Ok(found) => HttpResponse::Ok().json(found.iter().map(seen_counter).collect::<Vec<_>>()),
        Err(_) => HttpResponse::InternalServerError().body("Internal server error"),
    }
}

async fn check(limiter: Limiter, call: web::Json<Call>) -> HttpResponse {
    let (space, context, delta) = call.into_inner().split();
    match limiter.is_rate_limited(&space, &context, delta) {
        Ok(found) if found.limited => HttpResponse::TooManyRequests().body("Too many requests"),
        Ok(_) => HttpResponse::Ok().json(()),
        Err(_) => HttpResponse::InternalServerError().body("Internal server error"),
    }
}

async fn report(limiter: Limiter, call: web::Json<Call>) -> HttpResponse {
    let (space, context, delta) = call.into_inner().split();
    match limiter.update_counters(&space, &context, delta) {
        Ok(()) => HttpResponse::Ok().json(()),
        Err(_) => HttpResponse::InternalServerError().body("Internal server error"),
    }
}

async fn check_and_report(limiter: Limiter, call: web::Json<Call>) -> HttpResponse {
    let mut call = call.into_inner();
    let asked = call.response_headers.take();
    let (space, context, delta) = call.split();
    let found = limiter.check_rate_limited_and_update(&space, &context, delta, asked.is_some());
    let Ok(mut found) = found else {
        return HttpResponse::InternalServerError().json(());
    };
    let mut answer = if found.limited {
        HttpResponse::TooManyRequests()
    } else {
        HttpResponse::Ok()
    };
    if asked.as_deref() == Some("DraftVersion03") {
        for (name, value) in found.response_header() {
            answer.insert_header((name, value));
        }
    }
    answer.json(())
}

async fn descriptors(limiter: Limiter, call: web::Json<CallOfSeveral>) -> HttpResponse {
    let call = call.into_inner();
    let mut context = Context::default();
    context.list_binding("descriptors".to_string(), call.descriptors);
    let space = call.namespace.into();
    match limiter.check_rate_limited_and_update(&space, &context, call.delta, false) {
        Ok(found) if found.limited => HttpResponse::TooManyRequests().json(()),
        Ok(_) => HttpResponse::Ok().json(()),
        Err(_) => HttpResponse::InternalServerError().json(()),
    }
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let port: u16 = words.next().ok_or("no port")?.parse()?;
    let file = std::fs::File::open(words.next().ok_or("no file")?)?;
    let read: Vec<Limit> = serde_yaml::from_reader(file)?;
    let limiter = Limiter::new(RateLimiter::new(10_000));
    limiter.configure_with(read)?;
    let serve = move || {
        App::new()
            .app_data(limiter.clone())
            .route("/limits/{space}", web::get().to(limits))
            .route("/counters/{space}", web::get().to(counters))
            .route("/check", web::post().to(check))
            .route("/report", web::post().to(report))
            .route("/check_and_report", web::post().to(check_and_report))
            .route("/descriptors", web::post().to(descriptors))
    };
    HttpServer::new(serve)
        .workers(1)
        .bind(("127.0.0.1", port))?
        .run()
        .await?;
    Ok(())
}
