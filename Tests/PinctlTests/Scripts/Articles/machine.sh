# The machine on which the articles' commands run: its network, files, servers and user. Run by ArticleWorld with its
# directory, that of the build and that of the sources, in namespaces of its own. Calls of `run` follow.
set -e
world=$1 build=$2 sources=$3
cd $world
gcc -shared -fPIC -O1 -o clock.so clock.c
# As root, everything so far belongs to the user. A user's namespace has root's number for this user.
if chown -R 65534:65534 . 2>/dev/null; then
    as_user="setpriv --reuid=65534 --regid=65534 --clear-groups"
else
    as_user="unshare --user --map-user=65534 --map-group=65534"
fi
chmod 755 .
ip link set lo up
ip address add 192.0.2.25/32 dev lo
# Nothing listens there.
ip address add 192.0.2.99/32 dev lo
cp -a /etc etc 2>/dev/null || true
mount --bind etc /etc
mount -t tmpfs tmpfs /var/lib
for place in /etc/pinctl /etc/certspotter /etc/letsencrypt /etc/nginx/tls /etc/bash_completion.d \
    /var/lib/prometheus/node-exporter /var/lib/node_exporter/textfile; do
    mkdir -p $place
    chmod 777 $place
done
rm -f /etc/hosts /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt /etc/gitconfig
echo "nameserver 127.0.0.1" >/etc/resolv.conf
(cd files; cat root.pem other-root.pem isrg-root-x1.pem) >/etc/ssl/certs/ca-certificates.crt
touch bin/program
mount --bind $build/pinctl bin/program
printf '#!/bin/sh\nLD_PRELOAD=%s exec %s "$@"\n' $world/clock.so $world/bin/program >bin/pinctl
printf '#!/bin/sh\ncat >>"$HOME/mail"\n' >bin/mail
chmod 755 bin/pinctl bin/mail
cp $sources/pins/public-roots.jsonc .

hosts() {
    for line in "127.0.0.2 api" "127.0.0.3 two" "127.0.0.4 www" "127.0.0.5 pay" "127.0.0.6 debug" \
        "127.0.0.7 ended" "127.0.0.8 shop" "127.0.0.9 old" "127.0.0.10 soon" "127.0.0.4 news"; do
        echo "$line.example.com"
    done
    printf '127.0.0.11 example.com\n192.0.2.25 mail.example.com\n127.0.0.1 localhost\n'
}
serve() { # ADDRESS CERTIFICATE [OPTION…]
    local address=$1 certificate=files/$2 attempt
    shift 2
    # Newer versions of OpenSSL prefer other groups.
    openssl s_server -quiet -accept $address:443 -groups X25519 -cert $certificate.pem -key $certificate.key "$@" \
        >/dev/null 2>&1 &
    for attempt in {1..100}; do (: >/dev/tcp/$address/443) 2>/dev/null && return; sleep 0.05; done
    return 1
}
chain="-cert_chain files/intermediate.pem"
serve 127.0.0.2 api $chain
serve 127.0.0.3 two $chain -dcert files/two-rsa.pem -dkey files/two-rsa.key -dcert_chain files/intermediate.pem
serve 127.0.0.4 www $chain
serve 127.0.0.5 pay $chain
serve 127.0.0.6 debug
serve 127.0.0.7 ended $chain
serve 127.0.0.8 shop $chain
serve 127.0.0.9 old $chain
serve 127.0.0.10 soon $chain
serve 127.0.0.11 example $chain
serve 127.0.0.12 renewed $chain
serve 127.0.0.13 api
serve 127.0.0.14 api $chain -dcert files/api-rsa.pem -dkey files/api-rsa.key -dcert_chain files/intermediate.pem
serve 127.0.0.15 moved -cert_chain files/other-intermediate.pem
perl -MIO::Socket::INET -e '
    $server = IO::Socket::INET->new(LocalAddr => "192.0.2.25", LocalPort => 25, Listen => 5) or die;
    while ($client = $server->accept) {
        $client->autoflush;
        print $client "220 mail.example.com ESMTP\r\n";
        sysread $client, $request, 4096;
        close $client;
    }' &

as_user="$as_user env -i HOME=$world/home PATH=$world/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin WORLD=$world"
as_user="$as_user TERM=dumb LC_ALL=C.UTF-8 MANPAGER=cat HELPERS=$world/helpers.sh"
$as_user bash -e repository.sh >repository.out 2>&1 || { cat repository.out; exit 1; }

run() { # NUMBER HOSTS
    { printf %s "$2"; hosts; } >/etc/hosts
    # The first line for a host counts.
    awk '!seen[$2]++' /etc/hosts >hosts; cat hosts >/etc/hosts
    $as_user bash -e before-$1 >before-$1.out 2>&1 </dev/null && echo ok >before-$1.out || true
    $as_user script -qec "bash $world/block-$1" /dev/null >block-$1.out 2>&1 </dev/null || true
    $as_user bash -e after-$1 >after-$1.out 2>&1 </dev/null && echo ok >after-$1.out || true
}

