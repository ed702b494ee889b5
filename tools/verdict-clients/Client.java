// Fetches a page from a server that the verdict service accepts: java Client.java SOCKET HOST PORT CA-FILE. Copy
// JudgedTrust. JSSE doesn't verify resumed sessions: limit SSLSessionContext.setSessionTimeout.
import java.io.*;
import java.net.*;
import java.nio.*;
import java.nio.channels.*;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.*;
import java.util.concurrent.*;
import javax.net.ssl.*;

public class Client {
    static class JudgedTrust extends X509ExtendedTrustManager {
        X509ExtendedTrustManager next;
        Path service;
        public X509Certificate[] getAcceptedIssuers() { return next.getAcceptedIssuers(); }
        static void no() throws CertificateException { throw new CertificateException("the server isn't known"); }
        public void checkClientTrusted(X509Certificate[] c, String a) throws CertificateException { no(); }
        public void checkClientTrusted(X509Certificate[] c, String a, Socket s) throws CertificateException { no(); }
        public void checkClientTrusted(X509Certificate[] c, String a, SSLEngine s) throws CertificateException { no(); }
        public void checkServerTrusted(X509Certificate[] c, String a) throws CertificateException { no(); }
        public void checkServerTrusted(X509Certificate[] c, String a, Socket s) throws CertificateException {
            next.checkServerTrusted(c, a, s);
            judge(c, ((SSLSocket) s).getHandshakeSession().getPeerHost(), s.getPort());
        }
        public void checkServerTrusted(X509Certificate[] c, String a, SSLEngine e) throws CertificateException {
            next.checkServerTrusted(c, a, e);
            judge(c, e.getPeerHost(), e.getPeerPort());
        }
        static byte[] field(int kind, byte[] value) {
            return ByteBuffer.allocate(5 + value.length).put((byte) kind).putInt(value.length).put(value).array();
        }
        void judge(X509Certificate[] chain, String host, int port) throws CertificateException {
            var limit = Executors.newSingleThreadScheduledExecutor();
            try (var channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
                limit.schedule(() -> { channel.close(); return null; }, 10, TimeUnit.SECONDS);
                channel.connect(UnixDomainSocketAddress.of(service));
                var bytes = new ByteArrayOutputStream();
                bytes.write(new byte[] {1, 1, 2, 0, 0, 0, 2, (byte) (port >> 8), (byte) port});
                bytes.write(field(1, host.getBytes("UTF-8")));
                for (var certificate : chain) bytes.write(field(4, certificate.getEncoded()));
                channel.write(ByteBuffer.wrap(field(0, bytes.toByteArray()), 1, bytes.size() + 4));
                var in = new DataInputStream(Channels.newInputStream(channel));
                int size = in.readInt();
                if (size < 2 || size > 4096) throw new IOException("an invalid length");
                var answer = ByteBuffer.wrap(in.readNBytes(size));
                if (answer.remaining() < size || answer.getShort() != 0x0101) throw new IOException("invalid");
                var seen = new byte[4][];
                for (int kind; answer.hasRemaining(); answer.get(seen[kind])) {
                    kind = answer.get();
                    int length = answer.getInt();
                    if (kind < 1 || kind > 3 || seen[kind] != null || length > answer.limit()) throw new IOException();
                    seen[kind] = new byte[length];
                }
                if (seen[1] == null || seen[1].length != 1 || seen[1][0] != 1)
                    throw new CertificateException("refused" + (seen[2] == null ? "" : ": " + new String(seen[2])));
            } catch (IOException | BufferUnderflowException | NegativeArraySizeException error) {
                throw new CertificateException("no valid answer from the verdict service", error);
            } finally { limit.shutdownNow(); }
        }
    }
    public static void main(String[] words) throws Exception {
        var roots = KeyStore.getInstance(KeyStore.getDefaultType());
        roots.load(null);
        var file = CertificateFactory.getInstance("X.509").generateCertificate(new FileInputStream(words[3]));
        roots.setCertificateEntry("ca", file);
        var factory = TrustManagerFactory.getInstance("PKIX");
        factory.init(roots);
        var trust = new JudgedTrust();
        trust.next = (X509ExtendedTrustManager) factory.getTrustManagers()[0];
        trust.service = Path.of(words[0]);
        var context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] {trust}, null);
        var connection = (HttpsURLConnection) new URL("https://" + words[1] + ":" + words[2]).openConnection();
        connection.setSSLSocketFactory(context.getSocketFactory());
        connection.getInputStream().transferTo(System.out);
    }
}
