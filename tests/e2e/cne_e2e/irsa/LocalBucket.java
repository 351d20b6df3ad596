import java.io.IOException;
import java.net.URI;
import java.util.Arrays;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/** The driver's view of a bucket: the same files on the local disk, below the same keys. The driver lists them and reads their footers; executors
 * read the bucket itself. */
public class LocalBucket extends RawLocalFileSystem {
  @Override
  public String getScheme() {
    return "s3a";
  }

  @Override
  public URI getUri() {
    return URI.create("s3a://tables");
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    return plain(super.getFileStatus(path));
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    return Arrays.stream(super.listStatus(path)).map(LocalBucket::plain).toArray(FileStatus[]::new);
  }

  /** Without the permissions, which the local file system asks the local path for. */
  private static FileStatus plain(FileStatus s) {
    return new FileStatus(s.getLen(), s.isDirectory(), 1, s.getBlockSize(), s.getModificationTime(), s.getPath());
  }
}
