# The repository of the articles: two releases, and the policy that most articles use. Run by the user.
. "$HELPERS"
git config --global user.name tester
git config --global user.email tester@example.com
git config --global init.defaultBranch main
git config --global advice.detachedHead false
git init --quiet origin
cd origin
cp ../files/* .
mkdir pins app ios certs
cp chain.pem certs/api.pem
cat www.pem intermediate.pem >certs/www.pem
# release API OTHER PINS: the policy of a release, or of the work tree.
release() {
    cat >pins/pins.jsonc <<END
{
  "version": 1,
  "pins": {
    "api-2026": { "pin": "$(pin api)", "role": "leaf" },
    "backup-27": { "pin": "$(pin backup)", "role": "leaf", "backup": true },
    "example-root": { "pin": "$(pin root)", "role": "root" },
    "other-root": { "pin": "$(pin other-root)", "role": "root" }
  },
  "domains": [
    { "host": "api.example.com", "pins": [$1] },
    { "host": "$2.example.com", "pins": [$3] }
  ]
}
END
}
cat >app/nsc.xml <<END
<network-security-config><domain-config>
  <domain>api.example.com</domain>
  <pin-set expiration="2026-10-01">
    <pin digest="SHA-256">$(base64_of intermediate)</pin>
  </pin-set>
</domain-config></network-security-config>
END
release '"api-2026"' pay '"example-root"'
git add .; git commit --quiet --message one; git tag ios-5.0
release '"api-2026", "backup-27"' pay '"example-root", "other-root"'
git commit --quiet --all --message two; git tag ios-5.1
release '"api-2026", "backup-27"' www '"example-root", "other-root"'
git commit --quiet --all --message three
