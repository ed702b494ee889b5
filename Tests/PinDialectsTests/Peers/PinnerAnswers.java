import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.SSLPeerUnverifiedException;
import okhttp3.CertificatePinner;

/**
 * What OkHttp's CertificatePinner makes of rows on the standard input: pattern, pins, host and chain (DER in base64, leaf
 * first), tabs between them and commas in them. One line for each: invalid, unpinned, accepted, or refused and the text of
 * its exception in base64.
 */
class PinnerAnswers {
    public static void main(String[] arguments) throws Exception {
        BufferedReader rows = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        CertificateFactory factory = CertificateFactory.getInstance("X.509");
        for (String row = rows.readLine(); row != null; row = rows.readLine()) {
            String[] fields = row.split("\t", -1);
            List<Certificate> chain = new ArrayList<>();
            for (String der : fields[3].split(",")) {
                if (der.isEmpty()) continue;
                byte[] bytes = Base64.getDecoder().decode(der);
                chain.add(factory.generateCertificate(new ByteArrayInputStream(bytes)));
            }
            System.out.println(answer(fields[0], fields[1].split(","), fields[2], chain));
        }
    }

    private static String answer(String pattern, String[] pins, String host, List<Certificate> chain) {
        CertificatePinner pinner;
        try {
            pinner = new CertificatePinner.Builder().add(pattern, pins).build();
        } catch (IllegalArgumentException exception) {
            return "invalid";
        }
        try {
            pinner.check(host, new ArrayList<>());
            return "unpinned";
        } catch (SSLPeerUnverifiedException exception) {
            // Pins hold for the host, and nothing was there to match them.
        }
        try {
            pinner.check(host, chain);
            return "accepted";
        } catch (SSLPeerUnverifiedException exception) {
            byte[] text = exception.getMessage().getBytes(StandardCharsets.UTF_8);
            return "refused " + Base64.getEncoder().encodeToString(text);
        }
    }
}
