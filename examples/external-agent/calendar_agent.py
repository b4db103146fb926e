"""Agent that answers with the day of the week of a date.

Usage: calendar_agent.py HOST:PORT [AUTHORITY.pem], the token in WHIMBREL_AGENT_TOKEN."""
import datetime, os, sys

from whimbrel_agent import Agent

REGISTER = """((action (agent-identifier :name df) (register (df-agent-description :name (agent-identifier :name calendar)
    :services (set (service-description :name weekdays :type calendar))))))"""

host, port = sys.argv[1].rsplit(":", 1)
calendar = Agent("calendar", (host, int(port)), os.environ["WHIMBREL_AGENT_TOKEN"], *sys.argv[2:3])
calendar.send("request", "df", REGISTER, language="fipa-sl0")
for message in calendar.messages():
    content = message["content"]
    if message["performative"] == "askOne" and content["term"] == "weekday":
        year, month, day, _ = content["args"]  # numbers of AgentSpeak are {"num": 1815}
        name = datetime.date(*(int(part["num"]) for part in (year, month, day))).strftime("%A")
        calendar.reply(message, "inform", {"term": "weekday", "args": [year, month, day, name]})
    elif message["performative"] in ("refuse", "failure", "not-understood"):
        sys.exit(f"{message['sender']} says {message['performative']}: {content}")
