/**
 * The two routes of the AI SDK's recipe for chats that survive a reload ("Chatbot Resume Streams"), with `resumable` in place
 * of `resumable-stream`. `chats` keeps the messages of a chat and the id of its active stream.
 */
import { resumable } from '../../sdk/append/index.js';

export function chatRoutes({ pusher, app, url, chats, streamAnswer, newId }) {
  const streams = resumable(pusher, { app, url });
  const headers = {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    'x-vercel-ai-ui-message-stream': 'v1',
    'x-accel-buffering': 'no',
  };
  return {
    /** `POST /api/chat`. `streamAnswer` gives `streamText(…).toUIMessageStreamResponse(…)` these options. */
    post: async (id, message) =>
      streamAnswer(id, message, {
        async consumeSseStream({ stream }) {
          const streamId = newId();
          await streams.createNewResumableStream(streamId, () => stream);
          await chats.setActiveStream(id, streamId);
        },
        onFinish: () => chats.setActiveStream(id, null),
      }),
    /** `GET /api/chat/ID/stream`, which `DefaultChatTransport` asks after a reload. */
    async get(id) {
      const streamId = await chats.activeStream(id);
      const stream = streamId && (await streams.resumeExistingStream(streamId));
      if (!stream) return new Response(null, { status: 204 });
      return new Response(stream.pipeThrough(new TextEncoderStream()), { headers });
    },
  };
}
