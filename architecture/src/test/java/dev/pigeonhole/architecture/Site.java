package dev.pigeonhole.architecture;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.xml.sax.SAXException;

/** What is really there: the poms and the compiled classes. */
record Site(List<Pom> poms, Set<Unit> types, Set<Use> uses, Set<String> nullMarkedPackages) {

  /** A module as its pom declares it; the name is that of its directory. */
  record Pom(String name, String artifact, List<Dependency> dependencies, List<String> managed) {}

  /** A dependency outside test scope. */
  record Dependency(String artifact, boolean optional) {}

  record Unit(String name, String packageName, String module) {

    boolean isPackageInfo() {
      return name.endsWith(".package-info");
    }
  }

  /** One class of ours using another one of ours. */
  record Use(Unit from, Unit to) {}

  static Site read(Path root) throws IOException {
    List<Pom> poms = new ArrayList<>();
    for (String module : modules(parse(root.resolve("pom.xml")))) {
      poms.add(pom(module, parse(root.resolve(module).resolve("pom.xml"))));
    }
    Map<String, Unit> types = new HashMap<>();
    List<JavaClass> classes = new ArrayList<>();
    Set<String> nullMarked = new HashSet<>();
    for (Pom pom : poms) {
      Path compiled = root.resolve(pom.name()).resolve("target/classes");
      if (Files.isDirectory(compiled)) {
        for (JavaClass found : new ClassFileImporter().importPath(compiled)) {
          Unit type = new Unit(found.getName(), found.getPackageName(), pom.name());
          types.put(found.getName(), type);
          classes.add(found);
          if (type.isPackageInfo()
              && found.isAnnotatedWith("org.jspecify.annotations.NullMarked")) {
            nullMarked.add(found.getPackageName());
          }
        }
      }
    }
    Set<Use> uses = new HashSet<>();
    for (JavaClass user : classes) {
      user.getDirectDependenciesFromSelf().stream()
          .map(it -> types.get(it.getTargetClass().getBaseComponentType().getName()))
          .filter(it -> it != null)
          .forEach(it -> uses.add(new Use(types.get(user.getName()), it)));
    }
    return new Site(poms, Set.copyOf(types.values()), uses, nullMarked);
  }

  private static Pom pom(String name, Element project) {
    List<Dependency> dependencies =
        children(project, "dependencies")
            .flatMap(it -> children(it, "dependency"))
            .filter(it -> !text(it, "scope").equals("test"))
            .map(it -> new Dependency(text(it, "artifactId"), text(it, "optional").equals("true")))
            .toList();
    List<String> managed =
        children(project, "dependencyManagement")
            .flatMap(it -> children(it, "dependencies"))
            .flatMap(it -> children(it, "dependency"))
            .map(it -> text(it, "artifactId"))
            .toList();
    return new Pom(name, text(project, "artifactId"), dependencies, managed);
  }

  private static List<String> modules(Element project) {
    return children(project, "modules")
        .flatMap(it -> children(it, "module"))
        .map(it -> it.getTextContent().strip())
        .toList();
  }

  static Stream<Element> children(Element parent, String name) {
    return IntStream.range(0, parent.getChildNodes().getLength())
        .mapToObj(parent.getChildNodes()::item)
        .filter(it -> it.getNodeType() == Node.ELEMENT_NODE && it.getNodeName().equals(name))
        .map(Element.class::cast);
  }

  static String text(Element parent, String name) {
    return children(parent, name).findFirst().map(it -> it.getTextContent().strip()).orElse("");
  }

  static Element parse(Path pom) throws IOException {
    try {
      return DocumentBuilderFactory.newInstance()
          .newDocumentBuilder()
          .parse(pom.toFile())
          .getDocumentElement();
    } catch (ParserConfigurationException | SAXException e) {
      throw new IOException("Cannot read " + pom, e);
    }
  }
}
