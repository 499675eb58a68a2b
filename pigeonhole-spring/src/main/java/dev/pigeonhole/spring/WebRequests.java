package dev.pigeonhole.spring;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.http.IdempotentEndpoint;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.lang.reflect.Method;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.MethodParameter;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotatedMethod;
import org.springframework.http.HttpEntity;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.stereotype.Controller;
import org.springframework.util.ClassUtils;
import org.springframework.web.ErrorResponseException;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.context.request.RequestContextHolder;
import org.springframework.web.context.request.ServletRequestAttributes;

/** The request that a controller is answering; where spring-web is missing there is none. */
final class WebRequests {
  static final String KEY = "Idempotency-Key";

  /** The parameter of a method that takes none. */
  static final int NO_BODY = -1;

  private static final boolean PRESENT =
      ClassUtils.isPresent(
          "org.springframework.web.context.request.RequestContextHolder",
          WebRequests.class.getClassLoader());

  private WebRequests() {}

  static boolean isController(BeanMethod place) {
    return PRESENT && AnnotatedElementUtils.hasAnnotation(place.method(), RequestMapping.class);
  }

  /** Whether Spring's web server would not find it among the beans. */
  static boolean isHidden(Object controller) {
    return AopUtils.isJdkDynamicProxy(controller)
        && !AnnotatedElementUtils.hasAnnotation(controller.getClass(), Controller.class);
  }

  /** Which parameter of a controller takes the body; as Spring does, interfaces are asked too. */
  static int bodyOf(Method method) {
    for (MethodParameter each : new AnnotatedMethod(method).getMethodParameters()) {
      if (each.hasParameterAnnotation(RequestBody.class)) {
        return each.getParameterIndex();
      }
    }
    return NO_BODY;
  }

  /** Whether a method returns more than a body. */
  static boolean isResponse(Class<?> returned) {
    return PRESENT && HttpEntity.class.isAssignableFrom(returned);
  }

  /** Whether it is one of those that are sent and not kept. */
  static boolean isFailure(@Nullable Object returned) {
    return PRESENT && returned instanceof ResponseEntity<?> && Responses.hasFailed(returned);
  }

  static @Nullable String key() {
    return PRESENT ? Web.key() : null;
  }

  /** What was asked for: where, and with which body. */
  static Object fingerprint(int body, @Nullable Object[] arguments) {
    return PRESENT ? Web.fingerprint(body, arguments) : List.of();
  }

  static void replayed() {
    if (PRESENT) {
      Web.replayed();
    }
  }

  /** For a client, as a problem with a status; for everybody else as it is. */
  static RuntimeException told(boolean client, InboxException refused) {
    return client && PRESENT ? Web.told(refused) : refused;
  }

  /** All that needs spring-web. */
  private static final class Web {
    private Web() {}

    static @Nullable String key() {
      ServletRequestAttributes now = current();
      if (now == null) {
        return null;
      }
      return IdempotentEndpoint.keyIn(Collections.list(now.getRequest().getHeaders(KEY)));
    }

    static Object fingerprint(int body, @Nullable Object[] arguments) {
      ServletRequestAttributes now = current();
      String where = "";
      if (now != null) {
        HttpServletRequest request = now.getRequest();
        where =
            "%s %s?%s"
                .formatted(request.getMethod(), request.getRequestURI(), request.getQueryString());
      }
      return new Asked(where, body == NO_BODY ? null : arguments[body]);
    }

    static void replayed() {
      ServletRequestAttributes now = current();
      HttpServletResponse response = now == null ? null : now.getResponse();
      if (response != null) {
        response.setHeader(IdempotentEndpoint.REPLAYED, "true");
      }
    }

    private static @Nullable ServletRequestAttributes current() {
      return RequestContextHolder.getRequestAttributes() instanceof ServletRequestAttributes now
          ? now
          : null;
    }

    static RuntimeException told(InboxException refused) {
      int number =
          switch (refused.code()) {
            case REQUEST_DIFFERS -> 422;
            case ANSWER_GONE -> 410;
            case GUARD_BUSY, REQUEST_WITH_OPERATOR -> 409;
            default -> 400;
          };
      HttpStatusCode status = HttpStatusCode.valueOf(number);
      ProblemDetail problem =
          ProblemDetail.forStatusAndDetail(status, String.valueOf(refused.getMessage()));
      problem.setProperty("code", refused.code().text());
      ErrorResponseException answer = new ErrorResponseException(status, problem, refused);
      if (refused.code() == ErrorCode.GUARD_BUSY) {
        answer.getHeaders().set("Retry-After", "1");
      }
      return answer;
    }
  }

  /** What a client asks for, as the codec writes it. */
  record Asked(String where, @Nullable Object body) {}
}
