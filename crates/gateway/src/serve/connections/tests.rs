use axum::routing::{get, post};
use tokio::sync::Semaphore;

use super::*;

const PATIENCE: Duration = Duration::from_secs(30);
const SMALL: Bounds = Bounds { connections: 4, head: PATIENCE, body: PATIENCE };
const HASTY: Bounds =
    Bounds { connections: 4, head: Duration::from_millis(50), body: Duration::from_millis(50) };

/// A server whose `/wait` answers when it is let go.
struct Served {
    address: SocketAddr,
    /// One for each that waits there.
    arrived: Arc<Semaphore>,
    waits: Arc<Semaphore>,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

async fn served(bounds: Bounds) -> Served {
    let (arrived, waits) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (arrives, held) = (Arc::clone(&arrived), Arc::clone(&waits));
    let wait = move || async move {
        arrives.add_permits(1);
        held.acquire().await.unwrap().forget();
        "waited"
    };
    let echo = |body: Result<String, axum::extract::rejection::StringRejection>| async move {
        body.unwrap_or_else(|_| "cut off".to_owned())
    };
    let from = |ConnectInfo(from): ConnectInfo<SocketAddr>| async move { from.to_string() };
    let app = Router::new().route("/wait", get(wait)).route("/echo", post(echo)).route("/from", get(from));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
    let task = tokio::spawn(serve(listener, app, bounds, stop.clone()));
    Served { address, arrived, waits, stop, task }
}

impl Served {
    async fn connect(&self, sent: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        stream
    }

    async fn ask(&self, request: &str) -> String {
        rest(&mut self.connect(request).await).await
    }
}

/// Everything until the other side closes, which it must.
async fn rest(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut text)).await.expect("it is held open");
    // A reset is an end as well.
    let _ = read;
    String::from_utf8(text).unwrap()
}

const FROM: &str = "GET /from HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
const WAIT: &str = "GET /wait HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

#[tokio::test]
async fn half_a_head_or_half_a_body_is_not_waited_for() {
    let served = served(HASTY).await;
    for half in ["", "GET /from HTTP/1.1\r\nHost: x\r\nX-Slow: ", FROM.trim_end()] {
        assert_eq!(served.ask(half).await, "", "{half}");
    }
    let half = "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 10\r\n\r\nhalf";
    assert!(served.ask(half).await.ends_with("cut off"));
    assert!(served.ask(FROM).await.starts_with("HTTP/1.1 200"));
    // The time for a head is over long before this answer comes.
    let mut slow = served.connect(WAIT).await;
    tokio::time::sleep(3 * HASTY.head).await;
    served.waits.add_permits(1);
    assert!(rest(&mut slow).await.ends_with("waited"));
}

#[tokio::test]
async fn connections_that_ask_nothing_make_room_for_those_that_do() {
    let served = served(SMALL).await;
    let halves = [
        "",
        "GET /from HTTP/1.1\r\nHost: x\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf",
        "GET /from HTTP/1.1\r\nHost: x\r\n\r\n",
    ];
    let mut held = Vec::new();
    for round in 0..20 {
        for half in halves {
            held.push(served.connect(half).await);
        }
        let answer = served.ask(FROM).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("127.0.0.1:"), "{round}: {answer}");
    }
    let last = held.split_off(held.len() - SMALL.connections);
    for stream in &mut held {
        rest(stream).await;
    }
    drop(last);
}

#[tokio::test]
async fn what_is_under_way_is_left_alone_and_the_next_is_told_to_come_back() {
    let served = served(SMALL).await;
    let mut under_way = Vec::new();
    let body = "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody";
    for _ in 0..SMALL.connections {
        under_way.push(served.connect(WAIT).await);
        served.arrived.acquire().await.unwrap().forget();
    }
    let refused = served.ask(body).await;
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("Retry-After: 1"), "{refused}");
    assert!(refused.ends_with("\r\n\r\nToo many requests are under way; try later"), "{refused}");
    served.waits.add_permits(SMALL.connections);
    let mut answered = 0;
    for stream in &mut under_way {
        answered += usize::from(rest(stream).await.ends_with("waited"));
    }
    assert_eq!(answered, SMALL.connections);
    assert!(served.ask(body).await.ends_with("body"), "there is room again");
}

#[tokio::test]
async fn a_stop_lets_requests_under_way_finish_and_takes_no_new_ones() {
    let served = served(SMALL).await;
    let mut slow = served.connect(WAIT).await;
    served.arrived.acquire().await.unwrap().forget();
    assert!(served.ask(FROM).await.starts_with("HTTP/1.1 200"));
    served.stop.cancel();
    let closed = async {
        while TcpStream::connect(served.address).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, closed).await.unwrap();
    assert!(!served.task.is_finished());
    served.waits.add_permits(1);
    assert!(rest(&mut slow).await.ends_with("waited"));
    tokio::time::timeout(PATIENCE, served.task).await.unwrap().unwrap();
}

#[test]
fn a_connection_that_began_to_work_is_not_closed_and_a_closed_one_does_not_begin() {
    let turns = Arc::default();
    let (one, other) = (Line::new(&turns), Line::new(&turns));
    let since = one.idle_since().unwrap();
    assert!(since < other.idle_since().unwrap(), "the one before has rested longer");
    assert!(one.works() && one.idle_since().is_none());
    assert!(!one.close(since));
    one.rests();
    assert!(!one.close(since), "it did something meanwhile");
    let since = one.idle_since().unwrap();
    assert!(since > other.idle_since().unwrap());
    assert!(one.close(since) && !one.works() && one.idle_since().is_none());
    one.rests();
    assert!(!one.works());
}
