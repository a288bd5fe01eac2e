package misstep.workloads.lucene;

import java.io.IOException;
import java.nio.file.Path;
import java.util.SplittableRandom;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.IntPoint;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.queryparser.classic.ParseException;
import org.apache.lucene.queryparser.classic.QueryParser;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.Sort;
import org.apache.lucene.search.SortField;
import org.apache.lucene.store.MMapDirectory;

/**
 * Indexes a generated library, merges, deletes, searches, and compares hits with a direct count.
 */
public final class Main {
  private static final int SHELVES = 16;
  private static final int QUERIES = 150;
  private static final String TEXT = "text";

  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args number of books, seed
   */
  public static void main(String[] args) {
    int size = Harness.argument(args, 0, 8000);
    int seed = Harness.argument(args, 1, 7);
    Harness.run((index, scratch) -> run(new Library(size, seed + index), seed + index, scratch));
  }

  private static void run(Library library, long seed, Path scratch) throws Exception {
    try (var directory = new MMapDirectory(scratch.resolve("index"));
        var analyzer = new StandardAnalyzer()) {
      index(library, directory, analyzer);
      try (var reader = DirectoryReader.open(directory)) {
        ValidationException.equal("documents", library.size(), reader.numDocs());
        search(
            library,
            new IndexSearcher(reader),
            new QueryParser(TEXT, analyzer),
            new SplittableRandom(seed));
      }
    }
  }

  private static void index(Library library, MMapDirectory directory, StandardAnalyzer analyzer)
      throws IOException {
    var config =
        new IndexWriterConfig(analyzer).setMaxBufferedDocs(Math.max(2, library.size() / 12));
    try (var writer = new IndexWriter(directory, config)) {
      for (int i = 0; i < library.size(); i++) {
        add(writer, library.text(i), i % SHELVES, i);
        if (i % 20 == 0) {
          // An extra one that is deleted below, so that merges have something to drop.
          add(writer, library.text(i), SHELVES, i);
        }
      }
      writer.deleteDocuments(IntPoint.newExactQuery("shelf", SHELVES));
      writer.commit();
      writer.forceMerge(2);
    }
  }

  private static void add(IndexWriter writer, String text, int shelf, int number)
      throws IOException {
    var book = new Document();
    book.add(new TextField(TEXT, text, Field.Store.YES));
    book.add(new IntPoint("shelf", shelf));
    book.add(new NumericDocValuesField("number", number));
    writer.addDocument(book);
  }

  private static void search(
      Library library, IndexSearcher searcher, QueryParser parser, SplittableRandom random)
      throws IOException, ParseException, ValidationException {
    for (int i = 0; i < QUERIES; i++) {
      // Frequent words are drawn more often: low numbers are frequent.
      int a = (int) (Library.VOCABULARY * Math.pow(random.nextDouble(), 3));
      int b = (a + 1 + random.nextInt(30)) % Library.VOCABULARY;
      String wordA = library.wordOf(a);
      String wordB = library.wordOf(b);
      String prefix = wordA.substring(0, 3);
      expect(searcher, parser, wordA, library.having(a));
      expect(searcher, parser, "+" + wordA + " +" + wordB, library.havingBoth(a, b));
      expect(searcher, parser, "+" + wordA + " -" + wordB, library.havingOnly(a, b));
      expect(searcher, parser, "\"" + wordA + " " + wordB + "\"", library.havingPhrase(a, b));
      expect(searcher, parser, prefix + "*", library.havingPrefix(prefix));
    }
    for (var shelf : library.shelves(SHELVES).entrySet()) {
      ValidationException.equal(
          "shelf " + shelf.getKey(),
          shelf.getValue(),
          searcher.count(IntPoint.newExactQuery("shelf", shelf.getKey())));
    }
  }

  private static void expect(IndexSearcher searcher, QueryParser parser, String text, int hits)
      throws IOException, ParseException, ValidationException {
    Query query = parser.parse(text);
    ValidationException.equal("hits of " + text, hits, searcher.count(query));
    // Scored and sorted searches use other code paths.
    ValidationException.equal(
        "scored hits of " + text, Math.min(hits, 10), searcher.search(query, 10).scoreDocs.length);
    var sorted = searcher.search(query, 10, new Sort(new SortField("number", SortField.Type.LONG)));
    ValidationException.equal(
        "sorted hits of " + text, Math.min(hits, 10), sorted.scoreDocs.length);
  }
}
