"""What each role may do, tried out: `python -m cne_terraform.attempts JSON`, in the environment with an AWS client.

Each attempt is one request that has to be allowed, or denied as such: an error that is no denial is a wrong answer too.
"""
import json
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from .aws import enforce

REGION = "eu-central-1"


class Account:
    """Clients of the local AWS API under one identity."""

    def __init__(self, url: str, key: str, secret: str, token: str | None = None):
        self.url = url
        self.session = boto3.Session(aws_access_key_id=key, aws_secret_access_key=secret, aws_session_token=token, region_name=REGION)

    def client(self, name: str):
        """A client of one service; each request is sent once."""
        config = Config(retries={"max_attempts": 0, "mode": "standard"}, s3={"addressing_style": "path"})
        return self.session.client(name, endpoint_url=self.url, config=config)

    def taking(self, role: str) -> "Account":
        """The identity of a role, by a web identity as a pod takes it."""
        taken = self.client("sts").assume_role_with_web_identity(RoleArn=role, RoleSessionName="test", WebIdentityToken="token" * 20)["Credentials"]
        return Account(self.url, taken["AccessKeyId"], taken["SecretAccessKey"], taken["SessionToken"])


def attempts(who: Account, storage: dict, other_role: str) -> dict:
    """Requests by name, in an order in which each finds what it needs."""
    s3, kms, iam, sts = (who.client(name) for name in ("s3", "kms", "iam", "sts"))
    lake, bucket, prefix, key = storage["lake"], storage["bucket"], storage["prefix"], storage["kms_key"]
    return {
        "read a table": lambda: s3.get_object(Bucket=lake, Key="tables/t/1.parquet"),
        "write shuffle": lambda: s3.put_object(Bucket=bucket, Key=f"{prefix}/q/1", Body=b"rows"),
        "read shuffle": lambda: s3.get_object(Bucket=bucket, Key=f"{prefix}/q/0"),
        "list shuffle": lambda: s3.list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/q/"),
        "remove shuffle": lambda: s3.delete_object(Bucket=bucket, Key=f"{prefix}/q/0"),
        "begin an upload of shuffle": lambda: s3.create_multipart_upload(Bucket=bucket, Key=f"{prefix}/q/2"),
        "write a table": lambda: s3.put_object(Bucket=lake, Key="tables/t/2.parquet", Body=b"x"),
        "remove a table": lambda: s3.delete_object(Bucket=lake, Key="tables/t/1.parquet"),
        "list the lake": lambda: s3.list_objects_v2(Bucket=lake, Prefix="tables/"),
        "read beside the data prefix": lambda: s3.get_object(Bucket=lake, Key="payroll/1.parquet"),
        "read a prefix that begins alike": lambda: s3.get_object(Bucket=lake, Key="tables-private/1.parquet"),
        "read beside the shuffle prefix": lambda: s3.get_object(Bucket=bucket, Key="pools/two/q/0"),
        "write beside the shuffle prefix": lambda: s3.put_object(Bucket=bucket, Key="pools/two/q/1", Body=b"x"),
        "remove beside the shuffle prefix": lambda: s3.delete_object(Bucket=bucket, Key="pools/two/q/0"),
        "change the bucket's policy": lambda: s3.put_bucket_policy(Bucket=bucket, Policy="{}"),
        "remove the bucket": lambda: s3.delete_bucket(Bucket=bucket),
        "list buckets": lambda: s3.list_buckets(),
        "end the key": lambda: kms.schedule_key_deletion(KeyId=key),
        "list roles": lambda: iam.list_roles(),
        "take another role": lambda: sts.assume_role(RoleArn=other_role, RoleSessionName="test"),
    }


ALLOWED = {"read a table", "write shuffle", "read shuffle", "list shuffle", "remove shuffle", "begin an upload of shuffle"}


def ended(attempt) -> str:
    """`allowed`, `denied`, or the code of another error."""
    try:
        attempt()
        return "allowed"
    except ClientError as e:
        code = e.response["Error"]["Code"]
        return "denied" if code in ("AccessDenied", "AccessDeniedException", "403") else code


def main() -> None:
    """Prints one line of JSON: how many attempts ended as they have to, and which did not."""
    given = json.loads(sys.argv[1])
    url, storage, roles = given["url"], given["outputs"]["storage"], given["outputs"]["roles"]
    admin = Account(url, "test", "test")
    s3 = admin.client("s3")
    # This API takes every condition for met: the bucket's own policy ("deny, unless over TLS") would deny all. It is put back at the end.
    policy = s3.get_bucket_policy(Bucket=storage["bucket"])["Policy"]
    s3.delete_bucket_policy(Bucket=storage["bucket"])
    for bucket, key in ((storage["lake"], "tables/t/1.parquet"), (storage["lake"], "payroll/1.parquet"), (storage["lake"], "tables-private/1.parquet"),
                        (storage["bucket"], "pools/two/q/0"), (storage["bucket"], f"{storage['prefix']}/q/0")):
        s3.put_object(Bucket=bucket, Key=key, Body=b"rows")
    taken = {name: admin.taking(arn) for name, arn in roles.items()}
    held, wrong = 0, []
    enforce(url, 0)
    try:
        for name, allowed in (("executor", ALLOWED), ("scheduler", set())):
            other = roles["scheduler" if name == "executor" else "executor"]
            for what, attempt in attempts(taken[name], storage, other).items():
                end, wanted = ended(attempt), "allowed" if what in allowed else "denied"
                held += end == wanted
                wrong += [] if end == wanted else [f"{name}: {what}: {end}, not {wanted}"]
    finally:
        enforce(url, None)
        s3.put_bucket_policy(Bucket=storage["bucket"], Policy=policy)
    print(json.dumps({"held": held, "wrong": wrong}))


if __name__ == "__main__":
    main()
