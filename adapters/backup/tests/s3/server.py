"""Runs moto's S3 on loopback, for the tests in this folder.

Prints one line, the endpoint and the credentials of a user, and serves until stdin ends. Requests
of this user are accepted, others refused, as S3 does.
"""

import json
import sys
import threading

import boto3
from moto import settings
from moto.server import DomainDispatcherApplication, create_backend_app
from moto.moto_server.werkzeug_app import MotoRequestHandler
from moto.s3.responses import S3Response
from werkzeug.serving import make_server

BUCKET = "cairn"
POLICY = {
    "Version": "2012-10-17",
    "Statement": {"Effect": "Allow", "Action": "s3:*", "Resource": "*"},
}


def serialise_puts():
    """Makes a conditional put atomic: moto looks for the object, and then creates it."""
    lock, put = threading.Lock(), S3Response.put_object

    def put_alone(request):
        with lock:
            return put(request)

    S3Response.put_object = put_alone


def prepare(endpoint):
    """Makes the bucket and a user, and checks signatures from then on."""
    keys = {"aws_access_key_id": "setup", "aws_secret_access_key": "setup"}
    client = {"endpoint_url": endpoint, "region_name": "us-east-1", **keys}
    boto3.client("s3", **client).create_bucket(Bucket=BUCKET)
    users = boto3.client("iam", **client)
    users.create_user(UserName="cairn")
    users.put_user_policy(UserName="cairn", PolicyName="s3", PolicyDocument=json.dumps(POLICY))
    key = users.create_access_key(UserName="cairn")["AccessKey"]
    settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
    return key["AccessKeyId"], key["SecretAccessKey"]


def main():
    serialise_puts()
    app = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=MotoRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    print(endpoint, *prepare(endpoint), flush=True)
    sys.stdin.read()


main()
