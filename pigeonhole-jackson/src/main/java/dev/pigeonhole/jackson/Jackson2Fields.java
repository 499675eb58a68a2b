package dev.pigeonhole.jackson;

import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ser.AnyGetterWriter;
import com.fasterxml.jackson.databind.ser.BeanPropertyWriter;
import com.fasterxml.jackson.databind.ser.PropertyWriter;
import com.fasterxml.jackson.databind.ser.std.BeanSerializerBase;
import java.time.temporal.TemporalAccessor;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;

/** Which fields the JSON of a class can have, as far as Jackson 2 knows before it writes any. */
final class Jackson2Fields {
  private Jackson2Fields() {}

  /** Whether there can be a field on this path; true in doubt. */
  static boolean mayHave(ObjectMapper mapper, Class<?> type, String path) {
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

  private static @Nullable BeanSerializerBase bean(ObjectMapper mapper, JavaType type) {
    try {
      return mapper.getSerializerProviderInstance().findValueSerializer(type)
              instanceof BeanSerializerBase bean
          ? bean
          : null;
    } catch (JsonMappingException | RuntimeException e) {
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
