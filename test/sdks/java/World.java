import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** What the checks share: what the runner has told (JSON of ../scene.ts), its answers, and the printing of results. */
final class World {
  static final Gson JSON = new GsonBuilder().serializeNulls().create();

  /** Has what must be escaped in JSON, in HTML and in queries. */
  static final Map<String, String> PAYLOAD = Map.of("text", "Zoë's <b>☃</b> 1+1=2 & more");

  private static final long WAIT_SECONDS = 30;

  final JsonObject told;
  final JsonObject app;
  private final HttpClient http = HttpClient.newHttpClient();

  World(String told) {
    this.told = JSON.fromJson(told, JsonObject.class);
    this.app = this.told.getAsJsonObject("app");
  }

  String appText(String name) {
    return app.get(name).getAsString();
  }

  /** Asks the runner for what a library cannot do or see. Names and values take turns. */
  JsonObject ask(String question, String... given) throws Exception {
    Map<String, String> body = new LinkedHashMap<>();
    body.put("ask", question);
    for (int at = 0; at < given.length; at += 2) body.put(given[at], given[at + 1]);
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(told.get("asksUrl").getAsString()))
            .POST(HttpRequest.BodyPublishers.ofString(JSON.toJson(body)))
            .build();
    HttpResponse<String> answer = http.send(request, HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() != 200) throw new IllegalStateException(answer.body());
    return JSON.fromJson(answer.body(), JsonObject.class);
  }

  interface Action {
    void run() throws Exception;
  }

  /** Makes one check and prints its result. */
  void check(String library, String name, Action action) {
    String error = "";
    try {
      action.run();
    } catch (Throwable problem) {
      StringWriter trace = new StringWriter();
      problem.printStackTrace(new PrintWriter(trace));
      error = trace.toString();
    }
    System.out.println(JSON.toJson(Map.of("library", library, "check", name, "error", error)));
  }

  /** Fails unless two values are the same JSON. */
  static void same(Object actual, Object expected) {
    JsonElement one = JSON.toJsonTree(actual);
    JsonElement other = JSON.toJsonTree(expected);
    if (!Objects.equals(one, other)) throw new AssertionError(one + " instead of " + other);
  }

  static Map<String, Object> event(String name, Object data) {
    return Map.of("event", name, "data", data);
  }

  /** Waits for what a callback gets. */
  static final class Inbox {
    private final BlockingQueue<Object> items = new LinkedBlockingQueue<>();

    void put(Object item) {
      items.add(item);
    }

    Object next() throws InterruptedException {
      Object item = items.poll(WAIT_SECONDS, TimeUnit.SECONDS);
      if (item == null) throw new AssertionError("nothing more was received");
      return item;
    }
  }
}
