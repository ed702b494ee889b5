class P { static Future<void> check() async {
  await HttpCertificatePinning.check(
    serverURL: 'https://api.themoviedb.org',
    headerHttp: {},
    sha: SHA.SHA256,
    allowedSHAFingerprints: _fps,
    timeout: 60);
  }
  static const List<String> _fps = [
    'C6:DB:AE:4D:C2:83:2C:FD:4E:63:FF:88:E9:50:42:6C:62:41:E3:C7:84:26:CF:2D:4D:D1:25:FE:97:EE:B8:C7',
  ];
}
