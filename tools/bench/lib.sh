# The certificates and servers for tools/bench/run. Sourced after tools/lib.sh, never run.

# The extensions that public CAs add to a server's certificate, so that it has the same length.
as_server='keyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth\nbasicConstraints=critical,CA:FALSE\n'
as_server+='authorityKeyIdentifier=keyid\nsubjectKeyIdentifier=hash\ncertificatePolicies=2.23.140.1.2.1\n'
as_server+='authorityInfoAccess=OCSP;URI:http://o.example.com,caIssuers;URI:http://i.example.com/ca.der\n'
as_server+='crlDistributionPoints=URI:http://c.example.com/ca.crl\n'

# new_key KIND FILE
new_key() {
    local options=(-algorithm EC -pkeyopt ec_paramgen_curve:P-256)
    [[ $1 == P-256 ]] || options=(-algorithm RSA -pkeyopt rsa_keygen_bits:2048)
    run_quietly openssl genpkey "${options[@]}" -out "$2"
}

# signed SUBJECT KEY CERTIFICATE EXTENSIONS: creates a certificate issued by the CA in ca.pem and ca.key.
signed() {
    run_quietly openssl req -new -key "$2" -subj "$1" -out request.csr
    printf '%b' "$4" >extensions.conf
    run_quietly openssl x509 -req -in request.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 90 \
        -extfile extensions.conf -out "$3"
}

# mint_server: creates in this directory root.pem, chain.pem and leaf.key for 127.0.0.1, anchors.pem with the system's
# roots and this one, and policy.json with three pins.
mint_server() {
    local name
    for name in root intermediate leaf; do new_key P-256 "$name.key"; done
    run_quietly openssl req -x509 -key root.key -subj "/O=Bench/CN=Bench Client Root" -days 365 \
        -addext keyUsage=critical,keyCertSign -out root.pem
    cat /etc/ssl/certs/ca-certificates.crt root.pem >anchors.pem
    cp root.pem ca.pem
    cp root.key ca.key
    signed "/O=Bench/CN=Bench Client Intermediate" intermediate.key intermediate.pem \
        'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\nsubjectKeyIdentifier=hash\n'
    cp intermediate.pem ca.pem
    cp intermediate.key ca.key
    signed "/CN=127.0.0.1" leaf.key leaf.pem "subjectAltName=IP:127.0.0.1\n$as_server"
    cat leaf.pem intermediate.pem >chain.pem
    cat >policy.json <<END
{
  "version": 1,
  "pins": {
    "leaf": { "pin": "$(pin leaf.key)", "role": "leaf" },
    "root": { "pin": "$(pin root.key)", "role": "root" },
    "spare": { "pin": "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "backup": true }
  },
  "domains": [{ "host": "127.0.0.1", "pins": ["leaf", "root", "spare"] }]
}
END
}

# pin KEY
pin() {
    printf sha256/
    openssl pkey -in "$1" -pubout -outform der | openssl dgst -sha256 -binary | openssl base64
}

# run_nginx CONFIGURATION ARGUMENT…: runs nginx in this directory with the configuration that this function prints for
# `port` and the ports after it, which are tried until they are free. Sets nginx (the process identifier) and port.
run_nginx() {
    local directory=$PWD attempt wait
    for attempt in {1..20}; do
        port=$((RANDOM % 20000 + 10000))
        {
            printf '%s\n' "worker_processes 1;" "daemon off;" "master_process off;" "pid $directory/nginx.pid;" \
                "error_log $directory/nginx.log;" "events { worker_connections 4096; }" "http {" "access_log off;" \
                "client_body_temp_path $directory/nginx-body;" "proxy_temp_path $directory/nginx-proxy;" \
                "fastcgi_temp_path $directory/nginx-fastcgi;" "uwsgi_temp_path $directory/nginx-uwsgi;" \
                "scgi_temp_path $directory/nginx-scgi;" "ssl_protocols TLSv1.2 TLSv1.3;" "ssl_session_cache off;" \
                "ssl_session_tickets off;" "root $directory;"
            "$@"
            printf '}\n'
        } >nginx.conf
        rm -f nginx.pid
        (ulimit -n 8192 && exec /usr/sbin/nginx -c "$directory/nginx.conf" -e "$directory/nginx.log" -p "$directory") &
        nginx=$!
        for ((wait = 0; wait < 100; wait++)); do
            [[ -s $directory/nginx.pid ]] && return
            kill -0 "$nginx" 2>/dev/null || break
            sleep 0.1
        done
        kill "$nginx" 2>/dev/null || true
        wait "$nginx" || true
    done
    tail "$directory/nginx.log" >&2
    return 1
}

# start_nginx: serves this directory with the files five and large on loopback, with one worker and the files of
# mint_server. Sets nginx and the addresses http, https and closing. At closing, a connection serves one request and no
# session is resumed, because nginx sends no tickets.
start_nginx() {
    printf hello >five
    head -c 100000000 /dev/zero >large
    run_nginx files
    http=http://127.0.0.1:$port
    https=https://127.0.0.1:$((port + 1))
    closing=https://127.0.0.1:$((port + 2))
}

files() {
    cat <<END
default_type application/octet-stream;
sendfile on;
open_file_cache max=8;
keepalive_requests 1000000000;
ssl_certificate $PWD/chain.pem;
ssl_certificate_key $PWD/leaf.key;
ssl_conf_command NumTickets 0;
server { listen 127.0.0.1:$port; }
server { listen 127.0.0.1:$((port + 1)) ssl; }
server { listen 127.0.0.1:$((port + 2)) ssl; keepalive_timeout 0; }
END
}

# mint_endpoints COUNT: creates in this directory, after mint_server, a certificate and key for each of 127.0.1.1 and so
# on. They are also valid for the same host of 127.0.2 and for the names below bench.test.
mint_endpoints() {
    local number
    for ((number = 1; number <= $1; number++)); do
        run_quietly openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "endpoint$number.key"
        signed "/CN=127.0.1.$number" "endpoint$number.key" endpoint.pem \
            "subjectAltName=IP:127.0.1.$number,IP:127.0.2.$number,DNS:*.bench.test\n$as_server"
        cat endpoint.pem intermediate.pem >"endpoint$number.pem"
    done
}

# start_endpoints COUNT: starts an https server on each of 127.0.1.1 and so on, with the files of mint_endpoints. Sets
# nginx and port.
start_endpoints() { run_nginx endpoints "$1"; }

endpoints() {
    local number
    for ((number = 1; number <= $1; number++)); do
        printf '%s\n' "server {" "listen 127.0.1.$number:$port ssl backlog=1024;" \
            "ssl_certificate $PWD/endpoint$number.pem;" "ssl_certificate_key $PWD/endpoint$number.key;" \
            "return 200 hello; }"
    done
}
