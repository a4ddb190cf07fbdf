"""Only a browser on this machine that has the token gets in, and no page of another site gets anything."""

import pytest
from starlette.testclient import TestClient

from pgassay.live import server
from pgassay.live.server import FOREIGN_HOST, FOREIGN_ORIGIN, NO_TOKEN
from tests.live.served import PORT, TOKEN

PLACES = ("/", "/live", "/static/page.css", "/nowhere")


@pytest.mark.parametrize("path", PLACES)
def test_without_the_token_nothing_is_told(stranger: TestClient, path: str) -> None:
    answer = stranger.get(path)
    assert (answer.status_code, answer.text) == (403, f"{NO_TOKEN}\n")


@pytest.mark.parametrize("token", ["", "wrong", TOKEN + "x", "\u00e9\ud800".encode(errors="replace").decode()])
def test_a_wrong_token_opens_nothing(stranger: TestClient, token: str) -> None:
    answer = stranger.get("/", params={"token": token})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_a_wrong_cookie_opens_nothing(stranger: TestClient) -> None:
    stranger.cookies.set(f"pgassay-{PORT}", "wrong")
    assert stranger.get("/").status_code == 403


@pytest.mark.parametrize("other", ['theme={"dark": true}', "odd", "a=b=c", "=", 'x="'])
def test_cookies_of_other_programs_on_this_machine_lock_nobody_out(stranger: TestClient, other: str) -> None:
    cookies = f"{other}; pgassay-{PORT}={TOKEN}; {other}"
    assert stranger.get("/", headers={"cookie": cookies}).status_code == 200
    assert stranger.get("/", headers={"cookie": f"{other}; x-pgassay-{PORT}={TOKEN}"}).status_code == 403


def test_the_token_becomes_a_cookie_that_no_script_reads_and_leaves_the_address(stranger: TestClient) -> None:
    answer = stranger.get("/", params={"token": TOKEN, "search": "x"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/?search=x")
    told = {each.strip().casefold() for each in answer.headers["set-cookie"].split(";")}
    assert {"httponly", "samesite=strict", "path=/", f"pgassay-{PORT}={TOKEN}"} <= told
    assert stranger.get("/").status_code == 200


def test_the_way_to_the_address_stays_here(stranger: TestClient) -> None:
    answer = stranger.get(f"http://127.0.0.1:{PORT}//elsewhere.example/", params={"token": TOKEN})
    assert answer.headers["location"] == "/elsewhere.example/"


@pytest.mark.parametrize("host", ["elsewhere.example", f"127.0.0.1.example:{PORT}", "", "127.0.0.1@x", "[", "a b"])
def test_another_name_is_refused(known: TestClient, host: str) -> None:
    assert known.get("/", headers={"host": host}).text == f"{FOREIGN_HOST}\n"


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1", "[::1]:9000"])
def test_a_forwarded_port_is_not(known: TestClient, host: str) -> None:
    answer = known.get("/", headers={"host": host, "cookie": f"pgassay-{PORT}={TOKEN}"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://elsewhere.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1"]
)
def test_another_origin_is_refused(known: TestClient, origin: str) -> None:
    assert known.get("/", headers={"origin": origin}).text == f"{FOREIGN_ORIGIN}\n"


def test_our_own_is_not(known: TestClient) -> None:
    assert known.get("/", headers={"origin": f"http://127.0.0.1:{PORT}"}).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_of_it_can_be_written(known: TestClient, method: str) -> None:
    assert known.request(method, "/").status_code == 403
    origin = {"origin": f"http://127.0.0.1:{PORT}"}
    assert known.request(method, "/", headers=origin).status_code == 405


@pytest.mark.parametrize("path", PLACES)
def test_every_answer_says_that_it_loads_from_here_alone(known: TestClient, path: str) -> None:
    headers = known.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; base-uri 'none'; frame-ancestors 'none'")
    assert "unsafe-eval" not in policy
    assert "http" not in policy
    script = next((each for each in policy.split("; ") if each.startswith("script-src")), "")
    assert "unsafe" not in script
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"


def test_a_query_has_bounds_that_it_names(known: TestClient, stranger: TestClient) -> None:
    answer = known.get("/", params={"search": "a" * 5000})
    assert (answer.status_code, "a query has 2048 bytes at most" in answer.text) == (400, True)
    assert stranger.get("/", params={"search": "a" * 5000}).status_code == 403
    assert known.get("/", params={"search": "a" * 2000}).status_code == 200


def test_who_has_no_token_waits_for_nobody(stranger: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "ANSWERED_MAX", 0)
    assert stranger.get("/").status_code == 403
    stranger.cookies.set(f"pgassay-{PORT}", TOKEN)
    answer = stranger.get("/")
    assert (answer.status_code, "requests are being answered" in answer.text) == (503, True)
