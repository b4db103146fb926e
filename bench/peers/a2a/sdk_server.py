"""Server of A2A's Python SDK whose agent answers each message at once, as shop.asl does."""

import sys

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part, Task, TaskState, TaskStatus
from starlette.applications import Starlette

PORT = int(sys.argv[1])


class Shop(AgentExecutor):
    async def execute(self, context, event_queue):
        if not context.current_task:
            status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            await event_queue.enqueue_event(
                Task(id=context.task_id, context_id=context.context_id, status=status, history=[context.message])
            )
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.add_artifact([Part(text="5 euros")])
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


card = AgentCard(
    name="shop", description="A shop.", version="1.0.0",
    supported_interfaces=[
        AgentInterface(url=f"http://127.0.0.1:{PORT}/rpc", protocol_binding="JSONRPC", protocol_version="1.0")
    ],
    capabilities=AgentCapabilities(streaming=True), default_input_modes=["text/plain"],
    default_output_modes=["text/plain"], skills=[AgentSkill(id="tea", name="tea", description="Tea.", tags=["shop"])],
)
handler = DefaultRequestHandler(agent_executor=Shop(), task_store=InMemoryTaskStore(), agent_card=card)
uvicorn.run(Starlette(routes=create_jsonrpc_routes(handler, "/rpc")), host="127.0.0.1", port=PORT, log_level="error")
