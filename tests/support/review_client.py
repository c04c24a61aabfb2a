"""A browser without a window for the review page: it keeps the cookie, says where a form stands, and
finds fields and links in a page."""

from html.parser import HTMLParser
from typing import ClassVar
from urllib.parse import urlsplit

import httpx


class Page(HTMLParser):
    """What a page consists of, as a browser would read it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        """Name -> value of every hidden field."""
        self.buttons: dict[str, dict[str, str | None]] = {}
        """Value -> attributes of every button that answers."""
        self.links: list[str] = []
        """Where links lead."""
        self.tags: list[str] = []
        """Every element, in order."""
        self.attributes: set[str] = set()
        """Every attribute of any element."""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.attributes |= set(given)
        if tag == "input" and given.get("type") == "hidden":
            self.fields[str(given["name"])] = str(given["value"])
        if tag == "button" and given.get("name") == "answer":
            self.buttons[str(given["value"])] = given
        if tag == "a":
            self.links.append(str(given["href"]))


def asked(address: str, **headers: str) -> httpx.Response:
    """What a stranger is answered, who has no cookie."""
    with httpx.Client(verify=False) as client:
        return client.get(address, headers=headers)


class ReviewClient:
    """One browser at one review page; whoever comes with the same address has its cookie."""

    _entered: ClassVar[dict[str, httpx.Cookies]] = {}

    def __init__(self, address: str) -> None:
        self.address = address
        self.origin = f"http://{urlsplit(address).netloc}"
        self.http = httpx.Client(base_url=self.origin, follow_redirects=True, verify=False)

    def __enter__(self) -> "ReviewClient":
        if self.address not in self._entered:
            assert self.http.get(self.address).status_code == 200
            self._entered[self.address] = self.http.cookies
        self.http.cookies = self._entered[self.address]
        return self

    def __exit__(self, *error: object) -> None:
        self.http.close()

    def get(self, path: str, **words: str) -> httpx.Response:
        """A page."""
        return self.http.get(path, params=words or None)

    def post(self, path: str, *, origin: str | None = "", **fields: str) -> httpx.Response:
        """A form of the page itself, with its token unless another is given; None sends no origin."""
        token = Page(self.get("/").text).fields["token"]
        headers = {} if origin is None else {"Origin": origin or self.origin}
        return self.http.post(path, data={"token": token, **fields}, headers=headers)
