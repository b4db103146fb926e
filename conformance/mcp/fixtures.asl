// Fixtures of MCP's conformance suite: the tools, resources and prompts that its scenarios call by name.

!offer.

+!offer
   <- !offer_contents;
      !offer_notes;
      !offer_questions;
      !offer_changes;
      !offer_resources;
      !offer_prompts.

// ---- Contents

red("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==").
schema("{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\",\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},\"required\":[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}").
silence("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=").

+!offer_contents
   : schema(Schema)
   <- .df_register(simple_text, tool, [tool("test_simple_text"), about("Returns text"), input([])]);
      .df_register(image, tool, [tool("test_image_content"), about("Returns an image"), input([])]);
      .df_register(audio, tool, [tool("test_audio_content"), about("Returns a sound"), input([])]);
      .df_register(embedded, tool, [tool("test_embedded_resource"), about("Returns a resource"), input([])]);
      .df_register(mixed, tool, [tool("test_multiple_content_types"), about("Returns several contents"), input([])]);
      .df_register(schema, tool, [tool("json_schema_2020_12_tool"), about("Has a schema with references"), input(Schema)]);
      .df_register(error, tool, [tool("test_error_handling"), about("Fails"), input([])]).

+!schema(Arguments)[source(C)] <- .concat("called with: ", Arguments, Text); .send(C, inform, Text).
+!simple_text[source(C)] <- .send(C, inform, "This is a simple text response for testing.").
+!image[source(C)] : red(Red) <- .send(C, inform, file("", "image/png", Red)).
+!audio[source(C)] : silence(Silence) <- .send(C, inform, file("", "audio/wav", Silence)).
+!embedded[source(C)]
   <- .send(C, inform, file("test://embedded-resource", "text/plain", "This is an embedded resource content.")).
+!mixed[source(C)]
   : red(Red)
   <- Note = file("test://mixed-content-resource", "application/json", "{\"test\":\"data\",\"value\":123}");
      .send(C, inform, parts(["Multiple content types test:", file("", "image/png", Red), Note])).
+!error[source(C)] <- .send(C, failure, "This tool intentionally returns an error for testing").

// ---- Progress and logs

+!offer_notes
   <- .df_register(progress, tool, [tool("test_tool_with_progress"), about("Reports progress"), input([])]);
      .df_register(logging, tool, [tool("test_tool_with_logging"), about("Logs"), input([])]);
      .df_register(logging_too, tool, [tool("test_logging_tool"), about("Logs"), input([])]).

+!progress[source(C)]
   <- .send(C, inform, progress(0, 100, "Completed step 0 of 100"));
      .wait(50);
      .send(C, inform, progress(50, 100, "Completed step 50 of 100"));
      .wait(50);
      .send(C, inform, progress(100, 100, "Completed step 100 of 100"));
      .send(C, inform, "done").
+!logging[source(C)]
   <- .send(C, inform, log(info, "Tool execution started"));
      .wait(50);
      .send(C, inform, log(info, "Tool processing data"));
      .wait(50);
      .send(C, inform, log(info, "Tool execution completed"));
      .send(C, inform, "Tool with logging executed successfully").
+!logging_too[source(C)] <- !logging[source(C)].

// ---- Questions

form_defaults("{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"description\":\"User name\",\"default\":\"John Doe\"},\"age\":{\"type\":\"integer\",\"description\":\"User age\",\"default\":30},\"score\":{\"type\":\"number\",\"description\":\"User score\",\"default\":95.5},\"status\":{\"type\":\"string\",\"description\":\"User status\",\"enum\":[\"active\",\"inactive\",\"pending\"],\"default\":\"active\"},\"verified\":{\"type\":\"boolean\",\"description\":\"Verification status\",\"default\":true}},\"required\":[]}").
form_enums("{\"type\":\"object\",\"properties\":{\"untitledSingle\":{\"type\":\"string\",\"description\":\"Select one option\",\"enum\":[\"option1\",\"option2\",\"option3\"]},\"titledSingle\":{\"type\":\"string\",\"description\":\"Select one option with titles\",\"oneOf\":[{\"const\":\"value1\",\"title\":\"First Option\"},{\"const\":\"value2\",\"title\":\"Second Option\"},{\"const\":\"value3\",\"title\":\"Third Option\"}]},\"legacyEnum\":{\"type\":\"string\",\"description\":\"Select one option (legacy)\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},\"untitledMulti\":{\"type\":\"array\",\"description\":\"Select multiple options\",\"minItems\":1,\"maxItems\":3,\"items\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]}},\"titledMulti\":{\"type\":\"array\",\"description\":\"Select multiple options with titles\",\"minItems\":1,\"maxItems\":3,\"items\":{\"anyOf\":[{\"const\":\"value1\",\"title\":\"First Choice\"},{\"const\":\"value2\",\"title\":\"Second Choice\"},{\"const\":\"value3\",\"title\":\"Third Choice\"}]}}},\"required\":[]}").
capital("{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"What is the capital of France?\"}}],\"maxTokens\":100}").
greeting("{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Generate a greeting\"}}],\"maxTokens\":50}").

+!offer_questions
   <- .df_register(sampling, tool, [tool("test_sampling"), about("Has the client's model answer"), input([prompt(string)])]);
      .df_register(elicitation, tool, [tool("test_elicitation"), about("Asks the user"), input([message(string)])]);
      .df_register(defaults, tool, [tool("test_elicitation_sep1034_defaults"), about("Asks with defaults"), input([])]);
      .df_register(enums, tool, [tool("test_elicitation_sep1330_enums"), about("Asks with choices"), input([])]);
      .df_register(missing, tool, [tool("test_missing_capability"), about("Needs a model"), input([]), requires([sampling])]);
      .df_register(streaming, tool, [tool("test_streaming_elicitation"), about("Reports, then asks"), input([])]);
      .df_register(name, tool, [tool("test_input_required_result_elicitation"), about("Asks for a name"), input([])]);
      .df_register(capital, tool, [tool("test_input_required_result_sampling"), about("Asks a model"), input([])]);
      .df_register(roots, tool, [tool("test_input_required_result_list_roots"), about("Asks for folders"), input([])]);
      .df_register(confirm, tool, [tool("test_input_required_result_request_state"), about("Asks to confirm"), input([])]);
      .df_register(several, tool, [tool("test_input_required_result_multiple_inputs"), about("Asks for all"), input([])]);
      .df_register(rounds, tool, [tool("test_input_required_result_multi_round"), about("Asks twice"), input([])]);
      .df_register(tampered, tool, [tool("test_input_required_result_tampered_state"), about("Asks to confirm"), input([])]);
      .df_register(either, tool, [tool("test_input_required_result_capabilities"), about("Asks what it can"), input([])]).

+!sampling(Prompt)[source(C)]
   <- .concat("{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"", Prompt, "\"}}],\"maxTokens\":100}", Params);
      .send(C, askOne, input("answer", "sampling/createMessage", Params), Answer);
      .concat("LLM response: ", Answer, Text);
      .send(C, inform, Text).
+!elicitation(Message)[source(C)] <- !fill_in(C, elicit("form", Message, [response(string, "User's response")])).
+!defaults[source(C)] : form_defaults(Form) <- !fill_in(C, elicit("form", "Please review and update the form fields with defaults", Form)).
+!enums[source(C)] : form_enums(Form) <- !fill_in(C, elicit("form", "Please select options from the enum fields", Form)).
+!fill_in(C, Question)
   <- .send(C, askOne, Question, Answer);
      .concat("User response: ", Answer, Text);
      .send(C, inform, Text).

+!missing[source(C)] <- .send(C, inform, "the client has a model").
+!streaming[source(C)] <- .send(C, inform, progress(1, 2, "half")); .send(C, inform, "done").
+!name[source(C)]
   <- .send(C, askOne, elicit("user_name", "What is your name?", [name(string)]), Answer);
      .concat("Hello, ", Answer, "!", Text);
      .send(C, inform, Text).
+!capital[source(C)] : capital(Params) <- !fill_in(C, input("capital_question", "sampling/createMessage", Params)).
+!roots[source(C)] <- !fill_in(C, input("client_roots", "roots/list", "{}")).
+!confirm[source(C)]
   <- .send(C, askOne, elicit("confirm", "Please confirm", [ok(boolean)]), _);
      .send(C, inform, "state-ok").
+!tampered[source(C)] <- !confirm[source(C)].
+!several[source(C)]
   : greeting(Params)
   <- Name = elicit("user_name", "What is your name?", [name(string)]);
      Greeting = input("greeting", "sampling/createMessage", Params);
      !fill_in(C, inputs([Name, Greeting, input("client_roots", "roots/list", "{}")])).
+!rounds[source(C)]
   <- .send(C, askOne, elicit("step1", "Step 1: What is your name?", [name(string)]), Name);
      .send(C, askOne, elicit("step2", "Step 2: What is your favorite color?", [color(string)]), Colour);
      .concat(Name, " likes ", Colour, Text);
      .send(C, inform, Text).
+!either[source(C)]
   : greeting(Params)
   <- Name = elicit("user_name", "What is your name?", [name(string)]);
      !fill_in(C, inputs([Name, input("greeting", "sampling/createMessage", Params)])).

// ---- Changes of lists

+!offer_changes
   <- .df_register(tool_change, tool, [tool("test_trigger_tool_change"), about("Changes the list of tools"), input([])]);
      .df_register(prompt_change, tool, [tool("test_trigger_prompt_change"), about("Changes the list of prompts"), input([])]).

+!tool_change[source(C)] <- !toggle(dynamic_tool, tool); .send(C, inform, "changed").
+!prompt_change[source(C)] <- !toggle(dynamic_prompt, prompt); .send(C, inform, "changed").
+!toggle(Service, Type) : offered(Service) <- -offered(Service); .df_deregister(Service, Type).
+!toggle(Service, Type) <- +offered(Service); .df_register(Service, Type, [about("Comes and goes"), input([])]).

// ---- Resources

+!offer_resources
   <- .df_register(static_text, resource, [uri("test://static-text"), media_type("text/plain"), about("Static text")]);
      .df_register(static_binary, resource, [uri("test://static-binary"), media_type("image/png"), about("Static image")]);
      .df_register(template, resource, [uri_template("test://template/{id}/data"), media_type("application/json"), about("Data by id")]);
      .df_register(watched, resource, [uri("test://watched-resource"), media_type("text/plain"), about("Watched text")]).

+!static_text[source(C)] <- .send(C, inform, "This is the content of the static text resource.").
+!static_binary[source(C)] : red(Red) <- .send(C, inform, file("", "image/png", Red)).
+!template(Id)[source(C)]
   <- .concat("{\"id\":\"", Id, "\",\"templateTest\":true,\"data\":\"Data for ID: ", Id, "\"}", Text);
      .send(C, inform, Text).
+!watched[source(C)] <- .send(C, inform, "Watched resource content").

// ---- Prompts

+!offer_prompts
   <- .df_register(simple_prompt, prompt, [tool("test_simple_prompt"), about("A prompt")]);
      .df_register(argument_prompt, prompt, [tool("test_prompt_with_arguments"), about("A prompt with arguments"),
         input([arg1(string, "First argument"), arg2(string, "Second argument")])]);
      .df_register(resource_prompt, prompt, [tool("test_prompt_with_embedded_resource"), about("A prompt with a resource"),
         input([resourceUri(string, "URI of the resource")])]);
      .df_register(image_prompt, prompt, [tool("test_prompt_with_image"), about("A prompt with an image")]);
      .df_register(asking_prompt, prompt, [tool("test_input_required_result_prompt"), about("A prompt that asks")]).

+!simple_prompt[source(C)] <- .send(C, inform, "This is a simple prompt for testing.").
+!argument_prompt(A, B)[source(C)]
   <- .concat("Prompt with arguments: arg1='", A, "', arg2='", B, "'", Text);
      .send(C, inform, Text).
+!resource_prompt(Uri)[source(C)]
   <- Note = file(Uri, "text/plain", "Embedded resource content for testing.");
      .send(C, inform, [user(Note), user("Please process the embedded resource above.")]).
+!image_prompt[source(C)]
   : red(Red)
   <- .send(C, inform, [user(file("", "image/png", Red)), user("Please analyze the image above.")]).
+!asking_prompt[source(C)]
   <- .send(C, askOne, elicit("user_context", "What context should the prompt use?", [context(string)]), Context);
      .concat("Use this context: ", Context, Text);
      .send(C, inform, Text).
