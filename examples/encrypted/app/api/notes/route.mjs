import { pusher } from '../../../lib/pusher.mjs';

/** Sends a note to everybody who has the page open. */
export async function POST(request) {
  const { text } = await request.json();
  if (typeof text !== 'string' || text.length > 1000)
    return new Response('Bad note', { status: 400 });
  await pusher.trigger('private-encrypted-notes', 'note', { text });
  return new Response(null, { status: 204 });
}
