import { Eta } from 'eta/core'
import { moment, type Words } from './mails.ts'

const text = `<%= it.lines.join('\\n\\n') %>

<% if (it.action) { %>
<%= it.action.label %>, until <%= it.until %>:
<%= it.action.link %>

<% } %>
<%= it.ending %>
`

const html = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title><%= it.subject %></title></head>
<body style="margin:0;padding:24px;background:#f4f4f5;font:16px/1.5 sans-serif;color:#18181b">
<div style="max-width:560px;margin:0 auto;padding:24px;background:#fff;border-radius:8px">
<% for (const line of it.lines) { %>
<p><%= line %></p>
<% } %>
<% if (it.action) { %>
<p><a href="<%= it.action.link %>" style="display:inline-block;padding:10px 18px;background:#18181b;color:#fff;text-decoration:none;border-radius:6px"><%= it.action.label %></a></p>
<p style="font-size:14px">Until <%= it.until %>. If the button does nothing, open this address:<br><%= it.action.link %></p>
<% } %>
<p style="font-size:14px;color:#52525b"><%= it.ending %></p>
</div>
</body>
</html>
`

/** Escapes nothing: for text. Whoever writes HTML uses the other. */
const plain = new Eta({ autoEscape: false, autoTrim: [false, 'nl'] })
const escaping = new Eta({ autoTrim: [false, 'nl'] })

const asText = plain.compile(text)
const asHtml = escaping.compile(html)

/** A name may hold a line break; a header may not, and of a text it would make a paragraph that looks like ours. */
const onOneLine = (line: string): string => line.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')

/** A mail's words as text and as HTML, both saying the same. */
export function render(words: Words): { subject: string; text: string; html: string; link: string | null } {
  const lines = words.lines.map(onOneLine)
  const it = { ...words, lines, until: words.action && moment(words.action.until) }
  return {
    subject: onOneLine(words.subject),
    text: plain.render(asText, it),
    html: escaping.render(asHtml, it),
    link: words.action?.link ?? null,
  }
}
