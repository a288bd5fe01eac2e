package misstep.workloads.lucene;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** Generated books with words drawn by Zipf's law, and the expected hits, counted directly. */
final class Library {
  static final int VOCABULARY = 4000;
  private static final int WORDS = 120; // of one book
  private static final char[] CONSONANTS = "bcdfghjklmnprstvz".toCharArray();
  private static final char[] VOWELS = "aeiou".toCharArray();

  private final String[] words = new String[VOCABULARY];
  private final List<int[]> books = new ArrayList<>();

  Library(int size, long seed) {
    for (int i = 0; i < VOCABULARY; i++) {
      words[i] = word(i);
    }
    var random = new SplittableRandom(seed);
    double[] cumulated = new double[VOCABULARY];
    double sum = 0;
    for (int i = 0; i < VOCABULARY; i++) {
      sum += 1.0 / (i + 1);
      cumulated[i] = sum;
    }
    for (int i = 0; i < size; i++) {
      int[] book = new int[WORDS];
      for (int j = 0; j < WORDS; j++) {
        int at = java.util.Arrays.binarySearch(cumulated, random.nextDouble() * sum);
        book[j] = Math.min(at < 0 ? -at - 1 : at, VOCABULARY - 1);
      }
      books.add(book);
    }
  }

  /** A distinct word for each number, of syllables that no analyzer changes. */
  private static String word(int number) {
    var text = new StringBuilder();
    int n = number + CONSONANTS.length * VOWELS.length;
    while (n > 0) {
      text.append(CONSONANTS[n % CONSONANTS.length]);
      n /= CONSONANTS.length;
      text.append(VOWELS[n % VOWELS.length]);
      n /= VOWELS.length;
    }
    return text.append('q').toString();
  }

  int size() {
    return books.size();
  }

  String wordOf(int number) {
    return words[number];
  }

  String text(int book) {
    var text = new StringBuilder();
    for (int word : books.get(book)) {
      text.append(words[word]).append(' ');
    }
    return text.toString();
  }

  /** Counts the books that have the word. */
  int having(int word) {
    return (int) books.stream().filter(book -> has(book, word)).count();
  }

  /** Counts the books that have both words. */
  int havingBoth(int a, int b) {
    return (int) books.stream().filter(book -> has(book, a) && has(book, b)).count();
  }

  /** Counts the books that have one word but not the other. */
  int havingOnly(int a, int b) {
    return (int) books.stream().filter(book -> has(book, a) && !has(book, b)).count();
  }

  /** Counts the books that have b right after a. */
  int havingPhrase(int a, int b) {
    int count = 0;
    for (int[] book : books) {
      for (int i = 0; i + 1 < book.length; i++) {
        if (book[i] == a && book[i + 1] == b) {
          count++;
          break;
        }
      }
    }
    return count;
  }

  /** Counts the books that have a word with the prefix. */
  int havingPrefix(String prefix) {
    boolean[] matches = new boolean[VOCABULARY];
    for (int i = 0; i < VOCABULARY; i++) {
      matches[i] = words[i].startsWith(prefix);
    }
    int count = 0;
    for (int[] book : books) {
      for (int word : book) {
        if (matches[word]) {
          count++;
          break;
        }
      }
    }
    return count;
  }

  /** Counts the books by their shelf, book modulo shelves. */
  Map<Integer, Integer> shelves(int shelves) {
    Map<Integer, Integer> counts = new HashMap<>();
    for (int i = 0; i < books.size(); i++) {
      counts.merge(i % shelves, 1, Integer::sum);
    }
    return counts;
  }

  private static boolean has(int[] book, int word) {
    for (int w : book) {
      if (w == word) {
        return true;
      }
    }
    return false;
  }
}
