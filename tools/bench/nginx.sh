# nginx on loopback, as tools/bench/run measures clients against it. Sourced, never run.

# start_nginx FOLDER: with one worker, and with the certificates in the folder: localhost.pem and localhost.key. Sets
# nginx, its process id, and the addresses: $http, $https, and $closing, where each connection serves one request
# and no session is resumed.
start_nginx() {
    local folder=$1 attempt port
    printf hello >"$folder/five"
    head -c 100000000 /dev/zero >"$folder/large"
    for attempt in {1..20}; do
        port=$((RANDOM % 20000 + 10000))
        cat >"$folder/nginx.conf" <<END
worker_processes 1;
daemon off;
master_process off;
pid $folder/nginx.pid;
error_log $folder/nginx.log;
events { worker_connections 512; }
http {
    access_log off;
    default_type application/octet-stream;
    client_body_temp_path $folder/nginx-body;
    proxy_temp_path $folder/nginx-proxy;
    fastcgi_temp_path $folder/nginx-fastcgi;
    uwsgi_temp_path $folder/nginx-uwsgi;
    scgi_temp_path $folder/nginx-scgi;
    sendfile on;
    tcp_nopush off;
    open_file_cache max=8;
    keepalive_requests 1000000000;
    ssl_certificate $folder/localhost.pem;
    ssl_certificate_key $folder/localhost.key;
    ssl_session_cache off;
    ssl_session_tickets off;
    root $folder;
    server { listen 127.0.0.1:$port; }
    server { listen 127.0.0.1:$((port + 1)) ssl; }
    server { listen 127.0.0.1:$((port + 2)) ssl; keepalive_timeout 0; }
}
END
        nginx -c "$folder/nginx.conf" -e "$folder/nginx.log" -p "$folder" 2>/dev/null &
        nginx=$!
        http=http://127.0.0.1:$port
        https=https://127.0.0.1:$((port + 1))
        closing=https://127.0.0.1:$((port + 2))
        for ((wait = 0; wait < 50; wait++)); do
            [[ -s $folder/nginx.pid ]] && return
            kill -0 "$nginx" 2>/dev/null || break
            sleep 0.1
        done
        kill "$nginx" 2>/dev/null || true
        wait "$nginx" || true
    done
    tail "$folder/nginx.log" >&2
    return 1
}

# mint_localhost: a chain for 127.0.0.1 in this folder: localhost.pem (leaf and intermediate) and its key, root.pem,
# anchors.pem (the system's roots and this one), and a policy of three pins, one of them the leaf's.
mint_localhost() {
    local name subject issuer extensions
    for name in root intermediate localhost; do
        run_quietly openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$name.key"
    done
    run_quietly openssl req -x509 -key root.key -subj "/O=Bench/CN=Bench Client Root" -days 365 \
        -addext keyUsage=critical,keyCertSign -out root.pem
    sign intermediate root 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign'
    sign localhost intermediate 'basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth\nsubjectAltName=IP:127.0.0.1,DNS:localhost'
    cat intermediate.pem >>localhost.pem
    cat /etc/ssl/certs/ca-certificates.crt root.pem >anchors.pem
    cat >policy.json <<END
{ "version": 1,
  "pins": {
    "leaf": { "pin": "$(pin_of localhost.key)", "role": "leaf" },
    "root": { "pin": "$(pin_of root.key)", "role": "root" },
    "spare": { "pin": "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "backup": true }
  },
  "domains": [{ "host": "127.0.0.1", "pins": ["leaf", "root", "spare"] }] }
END
}

sign() { # NAME ISSUER EXTENSIONS
    run_quietly openssl req -new -key "$1.key" -subj "/O=Bench/CN=$1" -out "$1.csr"
    printf '%b\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n' "$3" >"$1.conf"
    run_quietly openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days 90 \
        -extfile "$1.conf" -out "$1.pem"
}

pin_of() {
    printf sha256/
    openssl pkey -in "$1" -pubout -outform der | openssl dgst -sha256 -binary | openssl base64
}
