# A server by the Model Context Protocol with one tool, over standard input and output: a message on each line.
import json
import sys


def answer(request):
    method, params = request["method"], request.get("params") or {}
    if method == "initialize":
        return {"result": {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "adder", "version": "1.0.0"}}}
    if method == "tools/list":
        number = {"type": "number"}
        return {"result": {"tools": [{"name": "add", "inputSchema": {"type": "object", "properties": {"a": number, "b": number}}}]}}
    if method == "tools/call" and params.get("name") == "add":
        total = params["arguments"]["a"] + params["arguments"]["b"]
        return {"result": {"content": [{"type": "text", "text": str(total)}], "structuredContent": {"sum": total}}}
    return {"error": {"code": -32601, "message": f"there is no {method}"}}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer(request)}), flush=True)
