# What the set-ups in situations.txt use. WORLD is the directory of the machine.
pin() { cat "$WORLD/pins/$1"; }
base64_of() { pin "$1" | cut -d/ -f2-; }

# rule HOST PINS [MORE]: the rule for a host below example.com.
rule() { printf '{ "host": "%s.example.com", "pins": [%s]%s }\n' "$1" "$2" "${3:+, $3}"; }

# policy RULES [PINS [MORE]]: writes pins/pins.jsonc. RULES are separated by lines, and PINS are more pins with names.
# MORE has other keys of the file, each with its comma.
policy() {
    cat >pins/pins.jsonc <<END
{
  "version": 1,${3:+
  $3}
  "pins": {
    "api-2026": { "pin": "$(pin api)", "role": "leaf" },
    "api-backup": { "pin": "$(pin backup)", "role": "leaf", "backup": true },
    "example-root": { "pin": "$(pin root)", "role": "root" }${2:+,
    $2}
  },
  "domains": [
$(printf %s "$1" | sed 's/^/    /; $!s/$/,/')
  ]
}
END
}

# android NAME…: writes app/nsc.xml with the pins of these names for api.example.com.
android() {
    {
        echo '<network-security-config><domain-config>'
        echo '  <domain>api.example.com</domain>'
        echo '  <pin-set>'
        for name; do echo "    <!-- $name --><pin digest=\"SHA-256\">$(base64_of "$name")</pin>"; done
        echo '  </pin-set>'
        echo '</domain-config></network-security-config>'
    } >app/nsc.xml
}

# plist FILE KEY…: writes a property list whose dictionaries have these keys. The last has what it reads.
plist() {
    local file=$1
    shift
    mkdir -p "$(dirname "$file")"
    {
        echo '<?xml version="1.0" encoding="UTF-8"?>'
        printf '<plist version="1.0"><dict>'
        for key; do printf '<key>%s</key><dict>' "$key"; done
        cat
        for key; do printf '</dict>'; done
        echo '</dict></plist>'
    } >"$file"
}

# The policy that `pinctl init` makes, and the certificate that it is about.
initial() {
    pinctl init --role leaf --backup backup.csr -o new.jsonc api.example.com
    mv new.jsonc pins/pins.jsonc
    rm certs/www.pem
}

# signers NAME…: makes keys as the article on updates does.
signers() {
    for name; do
        (umask 077 && openssl rand -base64 24 >"$name.txt")
        openssl genpkey -algorithm ed25519 -aes256 -pass "file:$name.txt" -out "$name.pem"
    done
}

# key_set NUMBER NAME…: prints the key set of these keys.
key_set() {
    local number=$1 keys
    shift
    keys=$(for name; do
        printf '"%s", ' "$(openssl pkey -in "$name.pem" -passin "file:$name.txt" -pubout -outform DER | base64 -w0)"
    done)
    echo "{ \"version\": 1, \"audience\": \"com.example.app\", \"number\": $number, \"threshold\": 2,"
    echo "  \"keys\": [${keys%, }] }"
}
