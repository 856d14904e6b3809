//! Short lists of function words: articles, pronouns, prepositions, conjunctions, forms of "be" and
//! "have". They are our own, and deliberately short: a long list removes words that people search.

/// Languages by ISO 639-1 code and name, with their words.
const LISTS: [(&str, &str, &str); 12] = [
    (
        "en",
        "english",
        "a an and are as at be been but by for from had has have he her his i if in into is it its \
         me my no nor not of on or our she so that the their them then there these they this to us \
         was we were which who will with you your",
    ),
    (
        "de",
        "german",
        "aber als am an auch auf aus bei bin bis da das dass dein dem den der des die dir doch du \
         ein eine einem einen einer eines er es für hat ich ihr im in ist ja kein man mein mich mir \
         mit nach nicht noch nur oder sein sich sie sind so um und uns von vor war was wenn wie wir \
         zu zum zur",
    ),
    (
        "fr",
        "french",
        "à au aux avec ce ces cette dans de des du elle en et eux il ils je la le les leur lui ma \
         mais me mes mon ne nos notre nous on ou par pas pour qu que qui sa se ses son sur ta te tes \
         ton tu un une vos votre vous est sont",
    ),
    (
        "es",
        "spanish",
        "a al con como de del el ella ellos en entre era es ese esta este ha hay la las le les lo \
         los más me mi no nos o para pero por que se si sin sobre son su sus te tu un una y ya yo",
    ),
    (
        "it",
        "italian",
        "a ad al alla anche che chi ci come con da dal dalla dei del della di e è ed era gli ha i il \
         in io la le lei lo loro lui ma mi nel nella noi non o per più se si sono su sul tra un una \
         uno voi",
    ),
    (
        "pt",
        "portuguese",
        "a ao aos as com como da das de do dos e é ela ele em entre era eu foi há isso já lhe mais \
         mas me meu na nas não no nos o os ou para pela pelo por que se sem seu sua são também te um \
         uma você",
    ),
    (
        "nl",
        "dutch",
        "aan al als bij dat de den der die dit door een en er had heb heeft hem het hij hoe ik in is \
         je maar me met mijn na naar niet nog nu of om ons ook op over te tot uit van voor was wat \
         we wel wij zal ze zich zij zijn zo",
    ),
    (
        "sv",
        "swedish",
        "alla att av blev den det de denna dess dig din du där efter ej eller en er ett från för \
         han har hon honom hur i icke inte jag kan man med men mig min mot nu när och om oss på sig \
         sin som så till under upp ut var vi vid än är",
    ),
    (
        "da",
        "danish",
        "af alle at blev da de dem den denne der det dig din du efter eller en er et for fra ham han \
         har hun hvad i ikke jeg kan man med men mig min mod nu når og om op os over på sig sin skal \
         som så til ud under var vi",
    ),
    (
        "no",
        "norwegian",
        "alle at av ble da de den denne der det deg din du eller en er et etter for fra ham han har \
         hun hva i ikke jeg kan man med men meg min mot nå når og om opp oss over på seg sin skal som \
         så til under ut var vi",
    ),
    (
        "fi",
        "finnish",
        "ei että en hän he ja jos joka jotka kanssa kuin kun me mikä minä mukaan mutta myös ne niin \
         nyt oli olla olivat on ovat se sen sinä sitä tai te tämä vain vaikka",
    ),
    (
        "ru",
        "russian",
        "а без бы был была были было в вы да для до его ее если есть за и из или их к как ко ли мне \
         мы на не него нет но о об он она они от по при с со так то ты у уже что это я",
    ),
];

/// The function words of a language, by its code or its name.
pub(crate) fn of_language(language: &str) -> Option<std::str::SplitWhitespace<'static>> {
    let language = language.to_lowercase();
    let list = LISTS.iter().find(|(code, name, _)| *code == language || *name == language);
    list.map(|(_, _, words)| words.split_whitespace())
}

/// The codes of the languages, for hints.
pub(crate) fn languages() -> String {
    LISTS.map(|(code, _, _)| code).join(", ")
}
