package dev.pigeonhole.jackson;

import java.time.temporal.TemporalAccessor;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JavaType;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.ser.AnyGetterWriter;
import tools.jackson.databind.ser.BeanPropertyWriter;
import tools.jackson.databind.ser.PropertyWriter;
import tools.jackson.databind.ser.bean.BeanSerializerBase;

/** Which fields the JSON of a class can have, as far as Jackson 3 knows before it writes any. */
final class JacksonFields {
  private JacksonFields() {}

  /** Whether there can be a field on this path; true in doubt. */
  static boolean mayHave(JsonMapper mapper, Class<?> type, String path) {
    JavaType at = mapper.constructType(type);
    for (String name : path.split("\\.", -1)) {
      JavaType owner = inside(at);
      if (isValue(owner)) {
        return false;
      }
      BeanSerializerBase bean = bean(mapper, owner);
      if (bean == null || owner.isAbstract()) {
        return true; // a child, the content or code of the user decides
      }
      PropertyWriter found = find(bean, name);
      if (found == null) {
        return isOpen(bean);
      }
      at = found.getType();
    }
    return true;
  }

  /** What lies in a list, an array or an optional is reached by the name of these. */
  private static JavaType inside(JavaType type) {
    JavaType inner = type;
    while ((inner.isArrayType() || inner.isCollectionLikeType() || inner.isReferenceType())
        && inner.getContentType() != null) {
      inner = inner.getContentType();
    }
    return inner;
  }

  private static boolean isValue(JavaType type) {
    return type.isPrimitive()
        || type.isEnumType()
        || type.hasRawClass(String.class)
        || type.isTypeOrSubTypeOf(Number.class)
        || type.isTypeOrSubTypeOf(TemporalAccessor.class);
  }

  private static @Nullable BeanSerializerBase bean(JsonMapper mapper, JavaType type) {
    try {
      return mapper._serializationContext().findValueSerializer(type)
              instanceof BeanSerializerBase bean
          ? bean
          : null;
    } catch (RuntimeException e) {
      return null; // writing will tell it better
    }
  }

  private static @Nullable PropertyWriter find(BeanSerializerBase bean, String name) {
    for (Iterator<PropertyWriter> all = bean.properties(); all.hasNext(); ) {
      PropertyWriter each = all.next();
      if (each.getName().equals(name)) {
        return each;
      }
    }
    return null;
  }

  /** Whether it has fields that are not its properties. */
  private static boolean isOpen(BeanSerializerBase bean) {
    for (Iterator<PropertyWriter> all = bean.properties(); all.hasNext(); ) {
      PropertyWriter each = all.next();
      if (each instanceof AnyGetterWriter
          || (each instanceof BeanPropertyWriter property && property.isUnwrapping())) {
        return true;
      }
    }
    return false;
  }
}
