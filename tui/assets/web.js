// What stands around the terminal of textual.js: where its socket is, waiting for the font (a terminal that was
// measured in another one has the wrong width), words when it ends, and a new try when only the line was lost.
"use strict";

const RETRY_MS = 2000;
const LOST = "The connection was lost. Trying again; the engine is not touched by this.";
const WORDS = {
  1000: "You have left the face. The engine goes on.",
  1001: "The server has ended. Start secondseat web again and open the address that it prints.",
};

const terminal = document.getElementById("terminal");
const button = document.getElementById("again");
const socketAddress = new URL("ws", window.location.href);
socketAddress.protocol = "ws:";
terminal.dataset.sessionWebsocketUrl = socketAddress.href;
button.addEventListener("click", () => window.location.reload());
terminal.addEventListener("contextmenu", (event) => event.preventDefault()); // the right button is the face's

function say(words, again) {
  document.body.classList.add("-over");
  document.getElementById("said").textContent = words;
  button.hidden = !again;
  if (again) button.focus();
}

async function tryAgain() {
  try {
    const answer = await fetch("alive", { cache: "no-store" });
    if (answer.ok) window.location.reload();
    else say("The server was started anew. Open the address that it printed.", false);
  } catch {
    setTimeout(tryAgain, RETRY_MS);
  }
}

window.WebSocket = class extends WebSocket {
  constructor(address) {
    super(address);
    this.addEventListener("open", () => terminal.querySelector("textarea").focus());
    this.addEventListener("close", (event) => {
      if (event.reason || event.code in WORDS) {
        say(event.reason || WORDS[event.code], event.code !== 1001);
      } else {
        say(LOST, false);
        setTimeout(tryAgain, RETRY_MS);
      }
    });
  }
};

const begin = window.onload; // textual.js begins when all is loaded; we begin when the font is there too
window.onload = () => {
  const fonts = ["16px", "bold 16px"].map((style) => document.fonts.load(`${style} "Roboto Mono"`));
  Promise.allSettled(fonts).then(begin);
};
