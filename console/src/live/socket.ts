/** The browser's socket and clock, for the client. */
import type { Clock, Dial } from "./client.js";

/** Connects to the node that served the page. */
export function dialOrigin(location: Location): Dial {
  const url = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/v1/live`;
  return (listener) => {
    const socket = new WebSocket(url, "whimbrel.live.v1");
    socket.onopen = () => listener.opened();
    socket.onmessage = (event) => listener.said(String(event.data));
    socket.onclose = () => listener.closed();
    return {
      send: (text) => {
        if (socket.readyState === WebSocket.OPEN) socket.send(text);
      },
      close: () => socket.close(),
    };
  };
}

export const browserClock: Clock = {
  now: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
