lego -d a.test,b.test \
  --domains=c.test renew --reuse-key; x
