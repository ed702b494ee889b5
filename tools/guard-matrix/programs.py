"""The programs of the matrix: how each connects to a server, and what it is called."""

import os
import shutil

PYTHON = "/usr/bin/python3"


def curl(to):
    return ["curl", "-sS", "-o", "/dev/null", *(["-k"] if to.insecure else ["--cacert", to.ca]), to.url]


def wget(to):
    return ["wget", "-nv", "-t", "1", "-O", "/dev/null",
            *(["--no-check-certificate"] if to.insecure else [f"--ca-certificate={to.ca}"]), to.url]


def git(to):
    to.environment.update({"GIT_SSL_NO_VERIFY": "1"} if to.insecure else {"GIT_SSL_CAINFO": to.ca})
    return ["git", "ls-remote", to.url + "repository"]


def openssl(to):
    to.input = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nQ\n"
    name = "-verify_ip" if to.host[0].isdigit() else "-verify_hostname"
    checks = [] if to.insecure else ["-CAfile", to.ca, "-verify_return_error", name, to.host]
    sni = [] if to.host[0].isdigit() else ["-servername", to.host]
    return ["sh", "-c", '(cat; sleep 0.3) | "$@"', "sh", "openssl", "s_client", "-connect", f"{to.host}:{to.port}",
            *sni, *checks]


def gnutls_cli(to):
    to.input = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    return ["gnutls-cli", "-p", str(to.port), *(["--insecure"] if to.insecure else [f"--x509cafile={to.ca}"]), to.host]


def urllib(to):
    return [PYTHON, "-c", """
import ssl, sys, urllib.request
url, ca = sys.argv[1:]
context = ssl.create_default_context(cafile=ca) if ca else ssl._create_unverified_context()
urllib.request.urlopen(url, context=context).read()""", to.url, "" if to.insecure else to.ca]


def requests(to):
    return [PYTHON, "-W", "ignore", "-c",
            "import sys, requests; requests.get(sys.argv[1], verify=sys.argv[2] or False)",
            to.url, "" if to.insecure else to.ca]


def httpx(to):
    return [PYTHON, "-c", "import sys, httpx; httpx.get(sys.argv[1], verify=sys.argv[2] or False)", to.url,
            "" if to.insecure else to.ca]


def aiohttp(to):
    return [PYTHON, "-c", """
import aiohttp, asyncio, ssl, sys
async def main(url, ca):
    context = ssl.create_default_context(cafile=ca) if ca else False
    async with aiohttp.ClientSession() as session:
        async with session.get(url, ssl=context) as response:
            await response.read()
asyncio.run(main(*sys.argv[1:]))""", to.url, "" if to.insecure else to.ca]


def php(to):
    verify = "['verify_peer' => false, 'verify_peer_name' => false]" if to.insecure else "['cafile' => $argv[2]]"
    return ["php", "-r", "exit(file_get_contents($argv[1], false, stream_context_create(['ssl' => " + verify
            + "])) === false ? 1 : 0);", to.url, to.ca]


def php_curl(to):
    return ["php", "-r", """$c = curl_init($argv[1]); curl_setopt($c, CURLOPT_RETURNTRANSFER, 1);
if ($argv[2] == '') { curl_setopt($c, CURLOPT_SSL_VERIFYPEER, 0); curl_setopt($c, CURLOPT_SSL_VERIFYHOST, 0); }
else curl_setopt($c, CURLOPT_CAINFO, $argv[2]);
if (curl_exec($c) === false) { fwrite(STDERR, curl_error($c)); exit(1); }""", to.url, "" if to.insecure else to.ca]


def ruby(to):
    return ["ruby", "-rnet/http", "-e", """
uri = URI(ARGV[0]); http = Net::HTTP.new(uri.host, uri.port); http.use_ssl = true
if ARGV[1] == '' then http.verify_mode = OpenSSL::SSL::VERIFY_NONE else http.ca_file = ARGV[1] end
http.get('/')""", to.url, "" if to.insecure else to.ca]


def perl(to):
    options = "verify_hostname => 0, SSL_verify_mode => 0" if to.insecure else "SSL_ca_file => $ARGV[1]"
    return ["perl", "-MLWP::UserAgent", "-e", "my $r = LWP::UserAgent->new(ssl_opts => {" + options
            + "})->get($ARGV[0]); die $r->as_string unless $r->is_success", to.url, to.ca]


def psql(to):
    mode = "sslmode=require" if to.insecure else f"sslmode=verify-full sslrootcert={to.ca}"
    return ["psql", "-w", f"host={to.host} port={to.port} user=u dbname=d {mode} gssencmode=disable"]


def mariadb(to):
    return ["mariadb", "--no-defaults", "--protocol=TCP", "-h", to.host, "-P", str(to.port), "-u", "u", "-psecret",
            *(["--ssl"] if to.insecure else [f"--ssl-ca={to.ca}", "--ssl-verify-server-cert"]), "-e", "select 1"]


def mosquitto(to):
    return ["mosquitto_pub", "-d", "-h", to.host, "-p", str(to.port), "-t", "t", "-m", "m", "--cafile", to.ca,
            *(["--insecure"] if to.insecure else [])]


# What is asked of each, the Debian package, and whether its exit code tells whether it got an answer (the servers for
# the databases close the connection after the first byte). `start` is how TLS begins.
PROGRAMS = {
    "curl": (curl, "curl", True, None),
    "wget": (wget, "wget", True, None),
    "git": (git, "git", True, None),
    "openssl s_client": (openssl, "openssl", False, None),
    "gnutls-cli": (gnutls_cli, "gnutls-bin", False, None),
    "python urllib": (urllib, "python3", True, None),
    "python requests": (requests, "python3-requests", True, None),
    "python httpx": (httpx, "python3-httpx", True, None),
    "python aiohttp": (aiohttp, "python3-aiohttp", True, None),
    "php": (php, "php-cli", True, None),
    "php curl": (php_curl, "php-curl", True, None),
    "ruby": (ruby, "ruby", True, None),
    "perl LWP": (perl, "liblwp-protocol-https-perl", True, None),
    "psql": (psql, "postgresql-client", False, "postgresql"),
    "mariadb": (mariadb, "mariadb-client", False, "mariadb"),
    "mosquitto_pub": (mosquitto, "mosquitto-clients", False, "mqtt"),
}


class Target:
    def __init__(self, host, port, ca, insecure):
        self.host, self.port, self.ca, self.insecure = host, port, str(ca), insecure
        self.url = f"https://{host}:{port}/"
        self.environment, self.input = {}, b""


def is_installed(name):
    build, _, _, _ = PROGRAMS[name]
    command = build(Target("localhost", 1, "", False))
    if shutil.which(command[0]) is None or (command[0] == "sh" and shutil.which("openssl") is None):
        return False
    if command[0] == PYTHON and " " in name:
        return os.system(f"{PYTHON} -c 'import {name.split()[1]}' 2>/dev/null") == 0
    if name == "php curl":
        return os.system("php -r 'exit(function_exists(\"curl_init\") ? 0 : 1);'") == 0
    return name != "perl LWP" or os.system("perl -MLWP::Protocol::https -e 1 2>/dev/null") == 0
