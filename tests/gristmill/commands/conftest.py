import logging
from collections.abc import Iterator

import pytest


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An S3 server with the bucket `mill`; credentials and region stand in the environment."""
    boto3 = pytest.importorskip("boto3")
    moto = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    for name, value in [("ACCESS_KEY_ID", "nobody"), ("SECRET_ACCESS_KEY", "nothing"), ("REGION", "us-east-1")]:
        monkeypatch.setenv(f"AWS_{name}", value)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    url = "http://{}:{}".format(*server.get_host_and_port())
    boto3.Session().client("s3", endpoint_url=url, region_name="us-east-1").create_bucket(Bucket="mill")
    yield url
    server.stop()
