import java.net.URI;
import java.util.HexFormat;
import org.apache.bookkeeper.client.api.BookKeeper;
import org.apache.bookkeeper.client.api.DigestType;
import org.apache.bookkeeper.client.api.LedgerEntry;
import org.apache.bookkeeper.client.api.ReadHandle;
import org.apache.bookkeeper.client.api.WriteHandle;
import org.apache.bookkeeper.conf.ClientConfiguration;

/** The original client: write URI DIGEST PASSWORD COUNT, or read URI DIGEST PASSWORD LEDGER. */
public class Peer {
    public static void main(String[] arguments) throws Exception {
        ClientConfiguration configuration = new ClientConfiguration();
        configuration.setMetadataServiceUri(arguments[1]);
        DigestType digest = DigestType.valueOf(arguments[2]);
        byte[] password = arguments[3].getBytes();
        long number = Long.parseLong(arguments[4]);
        try (BookKeeper client = BookKeeper.newBuilder(configuration).build()) {
            if (arguments[0].equals("write")) {
                try (WriteHandle ledger = client.newCreateLedgerOp().withEnsembleSize(3).withWriteQuorumSize(3)
                        .withAckQuorumSize(2).withDigestType(digest).withPassword(password).execute().get()) {
                    for (long entry = 0; entry < number; entry++) {
                        ledger.append(java.nio.ByteBuffer.allocate(8).putLong(0, entry).array());
                    }
                    System.out.println("wrote " + ledger.getId());
                }
            } else {
                try (ReadHandle ledger = client.newOpenLedgerOp().withLedgerId(number).withRecovery(true)
                        .withDigestType(digest).withPassword(password).execute().get()) {
                    for (LedgerEntry entry : ledger.read(0, ledger.getLastAddConfirmed())) {
                        System.out.println("entry " + entry.getEntryId() + " " + HexFormat.of().formatHex(entry.getEntryBytes()));
                    }
                    System.out.println("closed " + ledger.getLastAddConfirmed() + " " + ledger.getLength());
                }
            }
        }
        System.exit(0);
    }
}
