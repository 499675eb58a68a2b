package dev.pigeonhole.support;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipInputStream;

/**
 * What a service is packed of: its classes, and its libraries, of which the modules of this project
 * are directories as long as Maven only tests. It tells whether a jar that was packed before still
 * has what is in them, and packs them where there is none: a test neither runs yesterday's classes
 * nor asks for a build before it.
 *
 * @param libraries jars, and directories of classes
 */
public record ServiceParts(Path classes, List<Path> libraries) {
  private static final Path CLASS_PATH = Path.of("target/runtime.classpath");

  /** Of the module whose tests run; Maven has written them down before. */
  public static ServiceParts ofThisModule() {
    try {
      List<Path> libraries =
          Stream.of(Files.readString(CLASS_PATH).strip().split(File.pathSeparator))
              .map(Path::of)
              .toList();
      return new ServiceParts(Path.of("target/classes"), libraries);
    } catch (IOException e) {
      throw new UncheckedIOException("mvn test-compile of this module writes it", e);
    }
  }

  /** Whether the jar and the libraries that its manifest names have the same in them. */
  public boolean areIn(Path jar) {
    if (!Files.exists(jar)) {
      return false;
    }
    Contents packed = new Contents();
    try (JarFile open = new JarFile(jar.toFile())) {
      packed.classes(open, "");
      String beside = open.getManifest().getMainAttributes().getValue(Attributes.Name.CLASS_PATH);
      for (String each : beside == null ? new String[0] : beside.split(" ", -1)) {
        Path library = jar.resolveSibling(each);
        if (!Files.exists(library)) {
          return false;
        }
        packed.library(library);
      }
    } catch (ZipException e) {
      return false; // whoever packed it was stopped
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot read " + jar, e);
    }
    return packed.areThoseOf(contents());
  }

  /** Whether the executable jar of Spring Boot has the same in it, starters aside. */
  public boolean areInBootJar(Path jar) {
    if (!Files.exists(jar)) {
      return false;
    }
    Contents packed = new Contents();
    try (JarFile open = new JarFile(jar.toFile())) {
      packed.classes(open, "BOOT-INF/classes/");
      for (ZipEntry each : filesBelow(open, "BOOT-INF/lib/")) {
        String name = each.getName().substring("BOOT-INF/lib/".length());
        try (InputStream content = open.getInputStream(each)) {
          packed.library(name, content);
        }
      }
    } catch (ZipException e) {
      return false; // whoever packed it was stopped
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot read " + jar, e);
    }
    // Its plugin packs no starters, which are empty, and adds tools of its own.
    Contents mine = contents();
    for (Contents each : List.of(mine, packed)) {
      each.remove("spring-boot-starter");
      each.remove("spring-boot-jarmode-tools");
    }
    return packed.areThoseOf(mine);
  }

  private static List<ZipEntry> filesBelow(JarFile jar, String directory) {
    return jar.stream()
        .filter(each -> !each.isDirectory() && each.getName().startsWith(directory))
        .<ZipEntry>map(each -> each)
        .toList();
  }

  private Contents contents() {
    Contents contents = new Contents();
    try {
      contents.classes(classes);
      for (Path each : libraries) {
        contents.library(each);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot read what is to be packed", e);
    }
    return contents;
  }

  /** Packs the classes into a jar, with what its manifest is to say. */
  public Path pack(Path jar, Map<Attributes.Name, String> says) {
    return pack(classes, jar, says);
  }

  /**
   * The libraries, each a jar: those that are none are packed into this directory, with what their
   * manifests are to say.
   */
  public List<Path> packLibraries(Path directory, Map<Attributes.Name, String> says) {
    return libraries.stream()
        .map(
            each ->
                Files.isRegularFile(each)
                    ? each
                    : pack(each, directory.resolve(moduleOf(each) + ".jar"), says))
        .toList();
  }

  private static Path pack(Path directory, Path jar, Map<Attributes.Name, String> says) {
    Manifest manifest = new Manifest();
    manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
    says.forEach(manifest.getMainAttributes()::put);
    try {
      Files.createDirectories(jar.toAbsolutePath().getParent());
      try (OutputStream file = Files.newOutputStream(jar);
          JarOutputStream out = new JarOutputStream(file, manifest)) {
        for (Path each : allIn(directory)) {
          if (Files.isRegularFile(each)) {
            out.putNextEntry(new ZipEntry(nameIn(directory, each)));
            Files.copy(each, out);
          } else { // without which Spring Boot finds no version of a package
            out.putNextEntry(new ZipEntry(nameIn(directory, each) + "/"));
          }
          out.closeEntry();
        }
      }
      return jar;
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot pack " + directory, e);
    }
  }

  private static List<Path> filesIn(Path directory) throws IOException {
    return allIn(directory).stream().filter(Files::isRegularFile).toList();
  }

  /** None if there is no such directory: a module may have nothing but dependencies. */
  private static List<Path> allIn(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      return List.of();
    }
    try (Stream<Path> all = Files.walk(directory)) {
      return all.filter(each -> !each.equals(directory)).sorted().toList();
    }
  }

  private static String nameIn(Path directory, Path file) {
    return directory.relativize(file).toString().replace(File.separatorChar, '/');
  }

  /** Of {@code pigeonhole-core/target/classes} it is {@code pigeonhole-core}. */
  private static String moduleOf(Path classes) {
    return classes.toAbsolutePath().resolve("../..").normalize().getFileName().toString();
  }

  /** Names and checksums, however it is packed. */
  private static final class Contents {
    private static final String OURS = "pigeonhole-";

    private final Map<String, Long> checksums = new TreeMap<>();

    void classes(Path directory) throws IOException {
      files("", directory);
    }

    void classes(JarFile jar, String below) throws IOException {
      for (ZipEntry each : filesBelow(jar, below)) {
        String name = each.getName().substring(below.length());
        if (isMade(name)) {
          checksums.put(name, each.getCrc());
        }
      }
    }

    /** A module of this project is compared file by file, for packing changes its jar. */
    void library(Path library) throws IOException {
      if (Files.isRegularFile(library)) {
        try (InputStream content = Files.newInputStream(library)) {
          library(String.valueOf(library.getFileName()), content);
        }
      } else {
        checksums.put(moduleOf(library), 0L);
        files(moduleOf(library) + "!/", library);
      }
    }

    void library(String name, InputStream content) throws IOException {
      if (!name.startsWith(OURS)) {
        checksums.put(name, checksum(content));
        return;
      }
      String module = name.replaceFirst("-\\d.*|\\.jar$", "");
      checksums.put(module, 0L);
      ZipInputStream jar = new ZipInputStream(content);
      for (ZipEntry each = jar.getNextEntry(); each != null; each = jar.getNextEntry()) {
        if (!each.isDirectory() && isMade(each.getName())) {
          checksums.put(module + "!/" + each.getName(), checksum(jar));
        }
      }
    }

    void remove(String prefix) {
      checksums.keySet().removeIf(each -> each.startsWith(prefix));
    }

    private void files(String at, Path directory) throws IOException {
      for (Path each : filesIn(directory)) {
        String name = nameIn(directory, each);
        if (isMade(name)) {
          try (InputStream content = Files.newInputStream(each)) {
            checksums.put(at + name, checksum(content));
          }
        }
      }
    }

    /** And not added by whoever packs. */
    private static boolean isMade(String name) {
      return !name.equals(JarFile.MANIFEST_NAME) && !name.startsWith("META-INF/maven/");
    }

    private static long checksum(InputStream content) throws IOException {
      CheckedInputStream checked = new CheckedInputStream(content, new CRC32());
      checked.transferTo(OutputStream.nullOutputStream());
      return checked.getChecksum().getValue();
    }

    boolean areThoseOf(Contents other) {
      return checksums.equals(other.checksums);
    }
  }
}
