"""The Materials Project as a source, against a stand-in here that speaks what the client asks."""

import importlib.util
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.pack import main as pack
from rc_hpc.store.reader import read_table
from rc_hpc.structures import mp
from rc_hpc.structures.sources import iter_items

KEY = "0123456789abcdef0123456789abcdef"
needs_client = pytest.mark.skipif(
    importlib.util.find_spec("mp_api") is None,
    reason="mp-api not installed: pip install 'rc_hpc[mp]'",
)


def crystal(a, species=("Na", "Cl")):
    sites = [
        {
            "species": [{"element": name, "occu": 1}],
            "abc": [k / 2] * 3,
            "properties": {},
            "label": name,
        }
        for k, name in enumerate(species)
    ]
    return {
        "@module": "pymatgen.core.structure",
        "@class": "Structure",
        "charge": 0,
        "lattice": {"matrix": [[a, 0, 0], [0, a, 0], [0, 0, a]], "pbc": [True] * 3},
        "properties": {},
        "sites": sites,
    }


class Server(ThreadingHTTPServer):
    """Holds the documents and what was asked."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.documents = {f"mp-{k}": crystal(3 + k / 100) for k in range(1, 6)}
        self.asked, self.down = [], False


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        url, server = urlsplit(self.path), self.server
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        server.asked.append((url.path, query, self.headers.get("x-api-key")))
        if url.path.rstrip("/") == "/heartbeat":
            return self.answer(
                200,
                {
                    "version": "99.0.0",
                    "db_version": "2026_01_01",
                    "access_controlled_batch_ids": [],
                },
            )
        if server.down:
            return self.answer(503, {"detail": "down for repair"})
        if self.headers.get("x-api-key") != KEY:
            return self.answer(401, {"detail": "no such key"})
        found = sorted(server.documents)
        if "material_ids" in query:
            found = [id_ for id_ in found if id_ in query["material_ids"].split(",")]
        if "nsites_min" in query:
            found = [
                id_
                for id_ in found
                if float(query["nsites_min"]) <= 2 <= float(query["nsites_max"])
            ]
        start = int(query.get("_skip", 0))
        page = found[start : start + int(query.get("_limit", 100))]
        data = [
            {"material_id": id_, "structure": server.documents[id_], "deprecated": False}
            for id_ in page
        ]
        return self.answer(200, {"data": data, "meta": {"total_doc": len(found)}})

    def answer(self, code, content):
        body = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch, tmp_path):
    found = Server()
    threading.Thread(target=found.serve_forever, daemon=True).start()
    monkeypatch.setenv("MP_API_ENDPOINT", f"http://127.0.0.1:{found.server_address[1]}/")
    monkeypatch.setenv("MP_API_KEY", KEY)
    monkeypatch.setenv("RC_HPC_SNAPSHOTS", str(tmp_path))
    yield found
    found.shutdown()
    found.server_close()


@needs_client
@pytest.mark.filterwarnings("ignore")
def test_a_query_becomes_a_snapshot_and_is_never_asked_again(server, tmp_path):
    output = tmp_path / "packed.h5"
    assert pack(["mp:mp-2,mp-4", "-o", str(output), "--progress", "none", "-q"]) == 0
    found = read_table(output, ["structures/id", "structures/formula", "structures/crystal_system"])
    assert (
        found["structures/id"].tolist() == ["mp-2", "mp-4"]
        and found["structures/formula"].tolist() == ["NaCl"] * 2
    )
    search = next(query for path, query, _ in server.asked if "summary" in path)
    assert search["material_ids"] == "mp-2,mp-4" and "structure" in search["_fields"]
    assert {key for path, _, key in server.asked if "summary" in path} == {KEY}
    asked = len(server.asked)
    server.documents["mp-2"] = crystal(9)  # the database moves
    snapshot = mp.snapshot_path({"material_ids": ["mp-2", "mp-4"]})
    before = snapshot.read_bytes()
    items = list(iter_items(["mp:mp-4,mp-2"]))
    assert [item.id for item in items] == ["mp-2", "mp-4"] and items[0].read(
        items[0], items[0].blob()
    ).lattice[0, 0] == 3.02
    assert len(server.asked) == asked and snapshot.read_bytes() == before
    about = json.loads(snapshot.with_suffix(".meta.json").read_text())
    assert (
        about["database_version"] == "2026_01_01"
        and about["n"] == 2
        and KEY not in json.dumps(about)
    )


@needs_client
@pytest.mark.filterwarnings("ignore")
def test_criteria_and_pages(server, monkeypatch):
    server.documents = {f"mp-{k}": crystal(3 + k / 1e4) for k in range(1, 1250)}
    assert len(list(iter_items(["mp:num_sites=1..4&is_stable=true"]))) == 1249
    searches = [query for path, query, _ in server.asked if "summary" in path]
    assert searches[0]["nsites_min"] == "1" and searches[0]["is_stable"] in ("True", "true")
    assert "_skip" in searches[-1]
    with pytest.raises(RcError, match="nothing in the database"):
        list(iter_items(["mp:num_sites=7..9"]))


@needs_client
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("source", "said"), [("mp:mp-2,mp-77", "mp-77"), ("mp:colour=blue", "colour")]
)
def test_what_is_not_there_leaves_no_snapshot(server, tmp_path, source, said):
    with pytest.raises(RcError, match=said):
        list(iter_items([source]))
    assert not list(tmp_path.iterdir())


@needs_client
@pytest.mark.filterwarnings("ignore")
def test_a_server_that_is_down(server, tmp_path):
    server.down = True
    with pytest.raises(RcError, match="login node") as found:
        list(iter_items(["mp:mp-1"]))
    assert (
        "down for repair" in str(found.value)
        and KEY not in str(found.value)
        and not list(tmp_path.iterdir())
    )


def test_a_key_is_needed(monkeypatch, tmp_path):
    monkeypatch.delenv("MP_API_KEY", raising=False)
    monkeypatch.setenv("RC_HPC_SNAPSHOTS", str(tmp_path))
    with pytest.raises(UsageError, match="MP_API_KEY"):
        list(iter_items(["mp:mp-1"]))


def test_queries(tmp_path):
    ids = tmp_path / "ids"
    ids.write_text("mp-2\nmp-1\nmp-2\n")
    assert (
        mp.parse_query(f"mp:@{ids}")
        == mp.parse_query("mp:mp-1,mp-2")
        == {"material_ids": ["mp-1", "mp-2"]}
    )
    assert mp.parse_query(
        "mp:num_sites=1..20&elements=Si,O&is_stable=false&crystal_system=Cubic&energy_above_hull=0..0.05"
    ) == {
        "num_sites": [1, 20],
        "elements": ["Si", "O"],
        "is_stable": False,
        "crystal_system": "Cubic",
        "energy_above_hull": [0, 0.05],
    }
    for source in ("mp:", "mp:mp-1&mp-2=", "mp:mp 1", f"mp:@{tmp_path}/nothing"):
        with pytest.raises(UsageError, match=r"mp:"):
            iter_items([source])
